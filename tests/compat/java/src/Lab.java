import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Clients with the settings every case wants, closed when the case ends; and what cases say about what they see. */
final class Lab implements AutoCloseable {
    static final String KAFKA = System.getenv("KAFKA");
    private static final Duration SHORTLY = Duration.ofMillis(100);
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private final String kafka;
    private Admin admin;

    Lab() {
        this(KAFKA);
    }

    /** With clients of other brokers. */
    Lab(String kafka) {
        this.kafka = kafka;
    }

    Admin admin() {
        if (admin == null) {
            admin = kept(Admin.create(Map.of("bootstrap.servers", kafka, "request.timeout.ms", 15_000)));
        }
        return admin;
    }

    /** A new name, unused so far. */
    static String name(String stem) {
        return stem + "-" + UUID.randomUUID().toString().substring(0, 13);
    }

    /** A new topic; config is key, value, key, value... */
    String topic(int partitions, String... config) {
        Map<String, String> configs = new HashMap<>();
        for (int at = 0; at < config.length; at += 2) {
            configs.put(config[at], config[at + 1]);
        }
        String name = name("java");
        get(admin().createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all());
        // Kafka answers before the topic is known everywhere and its partitions are led.
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        IntStream.range(0, partitions).forEach(each -> ends.put(new TopicPartition(name, each), OffsetSpec.latest()));
        eventually(name + " is led", () -> {
            try {
                return get(admin().listOffsets(ends).all()).size() == partitions;
            } catch (UnknownTopicOrPartitionException early) {
                return false;
            }
        });
        return name;
    }

    Producer<String, String> producer(Object... settings) {
        Map<String, Object> config = settings(settings);
        config.putIfAbsent("linger.ms", 1);
        return kept(new KafkaProducer<>(config, new StringSerializer(), new StringSerializer()));
    }

    Producer<String, String> transactional(String transactionalId, Object... settings) {
        Map<String, Object> config = settings(settings);
        config.put("transactional.id", transactionalId);
        Producer<String, String> made = kept(new KafkaProducer<>(config, new StringSerializer(), new StringSerializer()));
        made.initTransactions();
        return made;
    }

    /** Reads from the start, and commits nothing by itself. */
    Consumer<String, String> consumer(Object... settings) {
        Map<String, Object> config = settings(settings);
        config.putIfAbsent("auto.offset.reset", "earliest");
        config.putIfAbsent("enable.auto.commit", false);
        config.putIfAbsent("fetch.max.wait.ms", 100);
        return kept(new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer()));
    }

    private Map<String, Object> settings(Object... given) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", kafka));
        for (int at = 0; at < given.length; at += 2) {
            config.put((String) given[at], given[at + 1]);
        }
        return config;
    }

    private <T extends AutoCloseable> T kept(T made) {
        open.push(made);
        return made;
    }

    /** Sends to the partition and waits; returns the offsets. */
    static List<Long> send(Producer<String, String> producer, String topic, int partition, String... values) {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String value : values) {
            sent.add(producer.send(new ProducerRecord<>(topic, partition, null, value)));
        }
        producer.flush();
        return sent.stream().map(each -> get(each).offset()).toList();
    }

    /** "0", "1", "2"... */
    static String[] numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toArray(String[]::new);
    }

    /** The next records, exactly so many. */
    static List<ConsumerRecord<String, String>> read(Consumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> got = new ArrayList<>();
        eventually("read " + count + " records", () -> {
            consumer.poll(SHORTLY).forEach(got::add);
            return got.size() >= count;
        });
        same(count, got.size());
        return got;
    }

    static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
    }

    /** What comes within so many milliseconds. */
    static List<String> within(Consumer<String, String> consumer, int ms) {
        List<String> got = new ArrayList<>();
        for (long end = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < end; ) {
            consumer.poll(SHORTLY).forEach(record -> got.add(record.value()));
        }
        return got;
    }

    /** The values from the start of a partition up to where it ends for that isolation level. */
    List<String> everything(String topic, int partition, String isolation) {
        TopicPartition place = new TopicPartition(topic, partition);
        List<String> got = new ArrayList<>();
        try (Consumer<String, String> reader = consumer("isolation.level", isolation)) {
            reader.assign(List.of(place));
            reader.seekToBeginning(List.of(place));
            long end = reader.endOffsets(List.of(place)).get(place);
            eventually("reach the end of " + place, () -> {
                reader.poll(SHORTLY).forEach(record -> got.add(record.value()));
                return reader.position(place) >= end;
            });
        }
        return got;
    }

    List<String> everything(String topic, int partition) {
        return everything(topic, partition, "read_committed");
    }

    /** Polls the members, commits what they got and adds it to `seen`, until the condition holds. */
    static void poll(Set<String> seen, Callable<Boolean> condition, List<Consumer<String, String>> members) {
        eventually("what the members wait for", () -> {
            for (Consumer<String, String> member : members) {
                var records = member.poll(Duration.ofMillis(50));
                for (var record : records) {
                    check(seen.add(record.partition() + "@" + record.offset()), "came twice: " + record);
                }
                if (!records.isEmpty()) {
                    member.commitSync();
                }
            }
            return condition.call();
        });
    }

    static void eventually(String what, Callable<Boolean> condition) {
        eventually(what, 40, condition);
    }

    static void eventually(String what, int seconds, Callable<Boolean> condition) {
        for (long end = System.nanoTime() + seconds * 1_000_000_000L; System.nanoTime() < end; ) {
            try {
                if (condition.call()) {
                    return;
                }
                Thread.sleep(20);
            } catch (Exception error) {
                sneak(error);
            }
        }
        throw new AssertionError("not within " + seconds + " s: " + what);
    }

    static void same(Object expected, Object actual) {
        check(expected.equals(actual), "expected " + expected + " and got " + actual);
    }

    static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    /** Runs what must fail; returns its error, without the wrapper of a future. */
    static <T extends Throwable> T refused(Class<T> expected, Callable<?> call) {
        try {
            call.call();
        } catch (Throwable error) {
            for (Throwable each = error; each != null; each = each.getCause()) {
                if (expected.isInstance(each)) {
                    return expected.cast(each);
                }
            }
            throw new AssertionError("expected " + expected.getSimpleName() + " and got " + error, error);
        }
        throw new AssertionError("expected " + expected.getSimpleName() + ", and nothing was refused");
    }

    static <T> T get(Future<T> future) {
        try {
            return future.get(30, TimeUnit.SECONDS);
        } catch (ExecutionException wrapped) {
            sneak(wrapped.getCause());
        } catch (Exception error) {
            sneak(error);
        }
        throw new AssertionError("not reached");
    }

    /** Throws what is checked without saying so in the signature. */
    @SuppressWarnings("unchecked")
    static <E extends Throwable> void sneak(Throwable error) throws E {
        throw (E) error;
    }

    @Override
    public void close() {
        for (AutoCloseable each : open) {
            try {
                if (each instanceof Producer<?, ?> producer) {
                    producer.close(Duration.ofSeconds(1));
                } else {
                    each.close();
                }
            } catch (Exception error) {
                System.out.println("    closing " + each.getClass().getSimpleName() + ": " + error);
            }
        }
    }
}
