import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One transactional producer in a closed loop, timed from begin to the end of commit.
 *
 * <pre>
 *   txn HOST:PORT ID TOPIC       WARM_UP_S RUN_S    one record of 100 bytes a transaction
 *   ctp HOST:PORT ID INPUT TOPIC WARM_UP_S RUN_S    consume 10, produce 10, send the offsets, commit
 * </pre>
 *
 * Prints one line of JSON, with the names that librdkafka.py uses.
 */
public class Transactions {
    private static final int BATCH = 10;
    private static final byte[] VALUE = new byte[100];
    private static final long NO_INPUT = -1;
    private static final int RESTARTS_MAX = 100;
    private static final Duration POLL = Duration.ofSeconds(5);

    /** What a producer does in one transaction. */
    private interface Step {
        /** When the transaction began, in nanoseconds; NO_INPUT: there was nothing left to consume. */
        long run(KafkaProducer<byte[], byte[]> producer);
    }

    public static void main(String[] args) {
        String bootstrap = args[1];
        String id = args[2];
        Arrays.fill(VALUE, (byte) 'x');
        if (args[0].equals("txn")) {
            measure(bootstrap, id, Double.parseDouble(args[4]), Double.parseDouble(args[5]), oneRecord(args[3]));
            return;
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consumerProperties(bootstrap, id))) {
            consumer.subscribe(List.of(args[3]));
            Step step = consumeTransformProduce(consumer, args[4]);
            measure(bootstrap, id, Double.parseDouble(args[5]), Double.parseDouble(args[6]), step);
        }
    }

    private static Step oneRecord(String topic) {
        return producer -> {
            long startNs = System.nanoTime();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, VALUE));
            producer.commitTransaction();
            return startNs;
        };
    }

    private static Step consumeTransformProduce(KafkaConsumer<byte[], byte[]> consumer, String output) {
        return producer -> {
            List<ConsumerRecord<byte[], byte[]>> taken = new ArrayList<>();
            while (taken.size() < BATCH) {
                int before = taken.size();
                consumer.poll(POLL).forEach(taken::add);
                if (taken.size() == before) {
                    return NO_INPUT;
                }
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            long startNs = System.nanoTime();
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> each : taken) {
                producer.send(new ProducerRecord<>(output, 0, null, each.value()));
                offsets.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
            return startNs;
        };
    }

    private static void measure(String bootstrap, String id, double warmUpS, double runS, Step step) {
        List<Long> timedNs = new ArrayList<>();
        int commits = 0;
        int restarts = 0;
        KafkaProducer<byte[], byte[]> producer = producer(bootstrap, id);
        step.run(producer); // connecting and joining a group are not part of it
        commits++;
        long beganNs = System.nanoTime() + (long) (warmUpS * 1e9);
        long endNs = beganNs + (long) (runS * 1e9);
        long nowNs = System.nanoTime();
        while (nowNs < endNs) {
            long startNs;
            try {
                startNs = step.run(producer);
            } catch (KafkaException error) {
                // Kafka 4.4 answers a 4.3 client so now and then; the producer is lost, the figure need not be.
                if (!isInvalidState(error) || restarts++ > RESTARTS_MAX) {
                    throw error;
                }
                producer.close(Duration.ZERO);
                producer = producer(bootstrap, id);
                continue;
            }
            if (startNs == NO_INPUT) {
                break;
            }
            nowNs = System.nanoTime();
            commits++;
            if (startNs >= beganNs) {
                timedNs.add(nowNs - startNs);
            }
        }
        producer.close();
        report(timedNs, commits, restarts, nowNs - beganNs);
    }

    private static boolean isInvalidState(Throwable error) {
        return error instanceof InvalidTxnStateException || error.getCause() instanceof InvalidTxnStateException;
    }

    private static void report(List<Long> timedNs, int commits, int restarts, long elapsedNs) {
        if (timedNs.isEmpty()) {
            throw new IllegalStateException("no transaction was committed in the time that counts");
        }
        timedNs.sort(null);
        System.out.printf(
            Locale.ROOT,
            "{\"commits_per_s\": %.3f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"commits\": %d, \"restarts\": %d}%n",
            timedNs.size() / (elapsedNs / 1e9), percentileMs(timedNs, 50), percentileMs(timedNs, 99), commits, restarts);
    }

    private static double percentileMs(List<Long> sortedNs, int percent) {
        return sortedNs.get(Math.min(sortedNs.size() - 1, sortedNs.size() * percent / 100)) / 1e6;
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String id) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("transactional.id", id);
        properties.put("linger.ms", "0"); // the client's own default of 5 ms would be most of what is measured
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        producer.initTransactions();
        return producer;
    }

    private static Properties consumerProperties(String bootstrap, String group) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", group);
        properties.put("isolation.level", "read_committed");
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("max.poll.records", String.valueOf(BATCH));
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return properties;
    }
}
