import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/**
 * Brokers are restarted one by one under load: no application gets an error, and what was acknowledged is there
 * once, in order, and read.
 *
 * <pre>
 * broker 0   ──✗ restarted ──────────────     all the while: an idempotent and a transactional producer, three groups
 * broker 1   ─────────────────✗ restarted     that read, and one that writes what it read and its offsets in one step
 * </pre>
 *
 * <p>The case has brokers of its own, of redis-ledger, whatever is tested beside it.
 */
final class Rolling {
    private static final int PARTITIONS = 4;
    private static final Duration SHORTLY = Duration.ofMillis(200);
    private static final int PATIENCE_S = 60;

    private Rolling() {}

    /** What tests/support/rolling_restart.py does. */
    private static final class Brokers implements AutoCloseable {
        private final Process process;
        private final BufferedReader output;
        private final Writer asked;
        final String kafka;

        Brokers() throws IOException {
            String python = System.getenv("PYTHON");
            Lab.check(python != null, "PYTHON is the interpreter that redis-ledger runs with");
            Path root = Path.of("../../..").toRealPath();
            var command = new ProcessBuilder(python, "-m", "tests.support.rolling_restart").directory(root.toFile());
            command.environment().put("PYTHONPATH", root.toString());
            process = command.redirectError(ProcessBuilder.Redirect.INHERIT).start();
            output = process.inputReader();
            asked = process.outputWriter();
            kafka = line();
        }

        String ask(String order) throws IOException {
            asked.write(order + "\n");
            asked.flush();
            return line();
        }

        private String line() throws IOException {
            String line = output.readLine();
            Lab.check(line != null, "the brokers have ended");
            return line;
        }

        @Override
        public void close() throws Exception {
            asked.close();
            process.waitFor();
        }
    }

    @FunctionalInterface
    private interface Step {
        void run() throws Exception;
    }

    /** Applications, each in a thread of its own that repeats a step.  Their errors, and how many there were. */
    private static final class Load {
        final Queue<String> errors = new ConcurrentLinkedQueue<>();
        final Queue<String> rebalanced = new ConcurrentLinkedQueue<>();
        final Queue<String> acknowledged = new ConcurrentLinkedQueue<>();
        private final Map<String, Integer> steps = new ConcurrentHashMap<>();
        private final Map<String, Thread> threads = new HashMap<>();
        private final Map<String, Boolean> ended = new ConcurrentHashMap<>();

        void start(String name, Step step) {
            steps.put(name, 0);
            threads.put(name, new Thread(() -> {
                try {
                    while (!ended.containsKey(name)) {
                        step.run();
                    }
                } catch (Throwable error) {
                    errors.add(name + ": " + error);
                }
            }, name));
            threads.get(name).setDaemon(true);
            threads.get(name).start();
        }

        void did(String name) {
            steps.merge(name, 1, Integer::sum);
        }

        /** Until each has done something more, twice: what was under way does not count. */
        void goOn() {
            Map<String, Integer> before = Map.copyOf(steps);
            Lab.eventually("all applications go on", PATIENCE_S, () -> {
                Lab.same(List.of(), List.copyOf(errors));
                return before.entrySet().stream().allMatch(each -> steps.get(each.getKey()) >= each.getValue() + 2);
            });
        }

        void end(String... names) throws InterruptedException {
            for (String name : names) {
                ended.put(name, true);
            }
            for (String name : names) {
                threads.get(name).join(PATIENCE_S * 1000L);
                Lab.check(!threads.get(name).isAlive(), name + " does not end");
            }
        }
    }

    /** What a group has got: partition → offset → value. */
    private static Map<Integer, Map<Long, String>> places() {
        Map<Integer, Map<Long, String>> found = new ConcurrentHashMap<>();
        IntStream.range(0, PARTITIONS).forEach(each -> found.put(each, new ConcurrentHashMap<>()));
        return found;
    }

    private static int count(Map<Integer, Map<Long, String>> places) {
        return places.values().stream().mapToInt(Map::size).sum();
    }

    private static void write(Load load, Producer<String, String> producer, String topic, List<String> values) {
        for (int number = 0; number < values.size(); number++) {
            producer.send(new ProducerRecord<>(topic, number % PARTITIONS, null, values.get(number)), (at, error) -> {
                if (error != null) {
                    load.errors.add("delivery report: " + error);
                }
            });
        }
        producer.flush();
    }

    private static List<String> values(String writer, int number) {
        return IntStream.range(number * 8, number * 8 + 8).mapToObj(each -> writer + "-" + each).toList();
    }

    private static void plain(Load load, Producer<String, String> producer, String topic) throws Exception {
        List<String> values = values("plain", load.steps.get("plain"));
        write(load, producer, topic, values);
        load.acknowledged.addAll(values);
        load.did("plain");
        Thread.sleep(20); // the pace of the load
    }

    /** Every fifth is aborted. */
    private static void transaction(Load load, Producer<String, String> producer, String topic) throws Exception {
        int number = load.steps.get("transaction");
        boolean isKept = number % 5 != 4;
        List<String> values = values(isKept ? "txn" : "not", number);
        producer.beginTransaction();
        write(load, producer, topic, values);
        if (isKept) {
            producer.commitTransaction();
            load.acknowledged.addAll(values);
        } else {
            producer.abortTransaction();
        }
        load.did("transaction");
        Thread.sleep(20); // the pace of the load
    }

    private static void group(
            Load load, String name, Consumer<String, String> consumer, boolean commits, Map<Integer, Map<Long, String>> got) {
        ConsumerRecords<String, String> records = consumer.poll(SHORTLY);
        records.forEach(each -> got.get(each.partition()).put(each.offset(), each.value()));
        if (records.isEmpty()) {
            return;
        }
        load.did(name);
        if (commits) {
            try {
                consumer.commitSync();
            } catch (CommitFailedException | RebalanceInProgressException moved) {
                load.rebalanced.add(name + ": " + moved); // as documented: it polls on
            }
        }
    }

    /** Consume, transform, produce: of each record the same in the other topic, and where it has read to. */
    private static void chain(
            Load load, Consumer<String, String> consumer, Producer<String, String> producer, String target) {
        ConsumerRecords<String, String> records = consumer.poll(SHORTLY);
        if (records.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        producer.beginTransaction();
        for (ConsumerRecord<String, String> each : records) {
            producer.send(new ProducerRecord<>(target, each.partition(), null, each.value()));
            next.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
        }
        producer.flush();
        try {
            producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
            producer.commitTransaction();
            load.did("chain");
        } catch (CommitFailedException moved) {
            load.rebalanced.add("chain: " + moved); // as documented: it aborts, and reads again what is not committed
            producer.abortTransaction();
            consumer.committed(consumer.assignment()).forEach((place, at) -> consumer.seek(place, at == null ? 0 : at.offset()));
        }
    }

    private static void restarted(Brokers brokers, Load load) throws IOException {
        load.goOn();
        for (int number = 0; number < 2; number++) {
            Lab.same("0", brokers.ask("stop " + number));
            load.goOn();
            Lab.same("ready", brokers.ask("start " + number));
            load.goOn();
        }
    }

    @Case(seconds = 300)
    static void a_rolling_restart_is_seen_by_no_application_and_loses_nothing(Lab unused) throws Exception {
        try (Brokers brokers = new Brokers(); Lab lab = new Lab(brokers.kafka)) {
            // Given applications that are all at work
            String topic = lab.topic(PARTITIONS);
            String target = lab.topic(PARTITIONS);
            Load load = new Load();
            Map<String, Map<Integer, Map<Long, String>>> got =
                    Map.of("by hand", places(), "by itself", places(), "modern", places());
            Function<Object[], Consumer<String, String>> reader = settings -> {
                Consumer<String, String> made = lab.consumer(settings);
                made.subscribe(List.of(topic));
                return made;
            };
            Object[] committed = {"isolation.level", "read_committed"};
            var byHand = reader.apply(with(committed, "group.id", "by hand"));
            var byItself = reader.apply(with(
                    committed, "group.id", "by itself", "enable.auto.commit", true, "auto.commit.interval.ms", 500));
            var modern = reader.apply(with(committed, "group.id", "modern", "group.protocol", "consumer"));
            var chained = reader.apply(with(committed, "group.id", "chain"));
            var idempotent = lab.producer();
            var transactional = lab.transactional("rolled");
            var chaining = lab.transactional("chained");
            load.start("plain", () -> plain(load, idempotent, topic));
            load.start("transaction", () -> transaction(load, transactional, topic));
            load.start("by hand", () -> group(load, "by hand", byHand, true, got.get("by hand")));
            load.start("by itself", () -> group(load, "by itself", byItself, false, got.get("by itself")));
            load.start("modern", () -> group(load, "modern", modern, true, got.get("modern")));
            load.start("chain", () -> chain(load, chained, chaining, target));
            // When each broker is restarted
            restarted(brokers, load);
            load.end("plain", "transaction");
            int count = load.acknowledged.size();
            Lab.eventually("readers get all of it", PATIENCE_S,
                    () -> got.values().stream().allMatch(each -> count(each) >= count));
            Lab.eventually("all of it is in the other topic", PATIENCE_S, () -> {
                Thread.sleep(200); // reading all of it is not to be the load
                return read(lab, target).values().stream().mapToInt(List::size).sum() >= count;
            });
            load.end("by hand", "by itself", "modern", "chain");
            // Then no application got an error
            Lab.same(List.of(), List.copyOf(load.errors));
            System.out.println("    rebalances: " + load.rebalanced);
            // And what was acknowledged is there, once, and in order
            Map<Integer, List<String>> log = read(lab, topic);
            List<String> there = log.values().stream().flatMap(List::stream).sorted().toList();
            Lab.same(load.acknowledged.stream().sorted().toList(), there);
            log.values().forEach(Rolling::checkOrder);
            // And every group has read it, and each record was made one in the other topic
            got.forEach((name, places) -> {
                Map<Integer, List<String>> read = new HashMap<>();
                places.forEach((partition, at) -> read.put(partition, List.copyOf(new TreeMap<>(at).values())));
                Lab.check(log.equals(read), name + " has not read what is there");
            });
            Lab.same(log, read(lab, target));
        }
    }

    private static Object[] with(Object[] settings, Object... more) {
        List<Object> all = new ArrayList<>(List.of(settings));
        all.addAll(List.of(more));
        return all.toArray();
    }

    private static Map<Integer, List<String>> read(Lab lab, String topic) {
        Map<Integer, List<String>> found = new HashMap<>();
        IntStream.range(0, PARTITIONS).forEach(each -> found.put(each, lab.everything(topic, each)));
        return found;
    }

    private static void checkOrder(List<String> partition) {
        Map<String, Integer> last = new HashMap<>();
        for (String value : partition) {
            String[] words = value.split("-");
            int number = Integer.parseInt(words[1]);
            Lab.check(last.getOrDefault(words[0], -1) < number, value + " is out of order");
            last.put(words[0], number);
        }
    }
}
