import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.ProducerRecord;

/** The command line tools of Kafka, each in a process of its own as an operator runs it. */
final class Tools {
    private static final String PACKAGE = "org.apache.kafka.tools.";

    private Tools() {}

    private static String run(String tool, String... arguments) throws Exception {
        return runWith(null, tool, arguments);
    }

    /** What it printed.  Fails unless it ends with 0 within 40 s. */
    private static String runWith(String input, String tool, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Xshare:auto",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", System.getProperty("java.class.path")));
        command.add(PACKAGE + tool);
        command.addAll(List.of(arguments));
        File output = File.createTempFile("compat-", ".txt");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output).start();
        try {
            try (var stdin = process.getOutputStream()) {
                stdin.write((input == null ? "" : input).getBytes(StandardCharsets.UTF_8));
            }
            boolean ended = process.waitFor(40, TimeUnit.SECONDS);
            String said = Files.readString(output.toPath());
            Lab.check(ended, tool + " did not end; it said: " + said);
            Lab.check(process.exitValue() == 0, tool + " ended with " + process.exitValue() + ": " + said);
            return said;
        } finally {
            process.destroyForcibly();
            output.delete();
        }
    }

    private static void says(String said, String... words) {
        for (String word : words) {
            Lab.check(said.contains(word), "expected '" + word + "' in: " + said);
        }
    }

    @Case(seconds = 90)
    static void producer_and_consumer_performance_run_through(Lab lab) throws Exception {
        String topic = lab.topic(3);
        says(run("ProducerPerformance", "--bootstrap-server", Lab.KAFKA, "--topic", topic, "--num-records", "20000",
                "--record-size", "1024", "--throughput", "-1"), "20000 records sent", "99th");
        String[] reader = {"--bootstrap-server", Lab.KAFKA, "--topic", topic, "--num-records", "20000"};
        String line = run("ConsumerPerformance", reader).lines().reduce((first, last) -> last).orElse("");
        Lab.check(Long.parseLong(line.split(",")[4].trim()) >= 20_000, "it read everything: " + line);
    }

    @Case(seconds = 90)
    static void producer_performance_commits_its_transactions(Lab lab) throws Exception {
        String topic = lab.topic(3);
        says(run("ProducerPerformance", "--bootstrap-server", Lab.KAFKA, "--topic", topic, "--num-records", "5000",
                "--record-size", "100", "--throughput", "5000", "--transactional-id", Lab.name("tx"),
                "--transaction-duration-ms", "100"), "5000 records sent");
        int read = 0;
        for (int partition = 0; partition < 3; partition++) {
            read += lab.everything(topic, partition).size();
        }
        Lab.same(5000, read);
    }

    @Case(seconds = 90)
    static void end_to_end_latency_runs_through(Lab lab) throws Exception {
        String topic = lab.topic(1);
        says(run("EndToEndLatency", "--bootstrap-server", Lab.KAFKA, "--topic", topic, "--num-records", "200",
                "--producer-acks", "all", "--record-size", "100"), "Avg latency", "Percentiles");
    }

    @Case(seconds = 120)
    static void topics_are_created_described_altered_and_deleted_by_command(Lab lab) throws Exception {
        String topic = Lab.name("cmd");
        String[] base = {"--bootstrap-server", Lab.KAFKA, "--topic", topic};
        says(run("TopicCommand", with(base, "--create", "--partitions", "2", "--config", "retention.ms=60000")), "Created");
        says(run("TopicCommand", with(base, "--describe")), "PartitionCount: 2", "retention.ms=60000", "Leader: ");
        run("TopicCommand", with(base, "--alter", "--partitions", "4"));
        says(run("GetOffsetShell", base), topic + ":3:0");
        run("TopicCommand", with(base, "--delete"));
    }

    @Case(seconds = 90)
    static void the_console_writes_and_reads_lines(Lab lab) throws Exception {
        String topic = lab.topic(1);
        runWith("one\ntwo\nthree\n", "ConsoleProducer", "--bootstrap-server", Lab.KAFKA, "--topic", topic);
        says(run("consumer.ConsoleConsumer", "--bootstrap-server", Lab.KAFKA, "--topic", topic, "--from-beginning",
                "--max-messages", "3", "--timeout-ms", "20000"), "one\ntwo\nthree\n", "Processed a total of 3");
    }

    @Case(seconds = 90)
    static void a_groups_lag_is_told_and_its_offsets_reset_by_command(Lab lab) throws Exception {
        String topic = lab.topic(1);
        String group = Lab.name("g");
        Lab.send(lab.producer(), topic, 0, Lab.numbers(10));
        var member = lab.consumer("group.id", group, "max.poll.records", 4);
        member.subscribe(List.of(topic));
        Lab.read(member, 4);
        member.commitSync();
        member.close();
        String[] base = {"--bootstrap-server", Lab.KAFKA, "--group", group};
        String line = run("consumer.group.ConsumerGroupCommand", with(base, "--describe")).lines()
                .filter(each -> each.startsWith(group)).findFirst().orElse("nothing");
        Lab.same(List.of(group, topic, "0", "4", "10", "6"), Arrays.asList(line.split("\\s+")).subList(0, 6));
        says(run("consumer.group.ConsumerGroupCommand",
                with(base, "--reset-offsets", "--to-earliest", "--topic", topic, "--execute")), topic);
        says(run("consumer.group.ConsumerGroupCommand", with(base, "--delete")), "successful");
    }

    @Case(seconds = 120)
    static void transactions_are_found_and_aborted_by_command(Lab lab) throws Exception {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var producer = lab.transactional(same);
        producer.beginTransaction();
        // As old as a hanging one would be; but its coordinator knows it, so it is none.
        long longAgo = System.currentTimeMillis() - 3_600_000;
        Lab.get(producer.send(new ProducerRecord<>(topic, 0, longAgo, null, "in doubt")));
        Lab.send(lab.producer(), topic, 0, "behind");
        String[] base = {"--bootstrap-server", Lab.KAFKA};
        String[] place = {"--topic", topic, "--partition", "0"};
        says(run("TransactionsCommand", with(base, "list")), same, "Ongoing");
        says(run("TransactionsCommand", with(base, "describe", "--transactional-id", same)), topic + "-0");
        says(run("TransactionsCommand", with(with(base, "describe-producers"), place)), "CurrentTransactionStartOffset");
        String hanging = run("TransactionsCommand", with(with(base, "find-hanging"), place));
        Lab.check(!hanging.contains(topic), "a transaction that its coordinator knows does not hang: " + hanging);
        run("TransactionsCommand", with(with(with(base, "abort"), place), "--start-offset", "0"));
        Lab.eventually("readers go on", () -> lab.everything(topic, 0).equals(List.of("behind")));
    }

    @Case(seconds = 60)
    static void the_broker_tells_its_request_versions_by_command(Lab lab) throws Exception {
        String said = run("BrokerApiVersionsCommand", "--bootstrap-server", Lab.KAFKA);
        says(said, "Produce(0)", "Fetch(1)", "EndTxn(26)", "ConsumerGroupHeartbeat(68)", "DescribeProducers(61)");
    }

    @Case(seconds = 120)
    static void rules_are_added_listed_and_removed_by_command(Lab lab) throws Exception {
        String secured = System.getenv("SECURED");
        if (secured == null || secured.isEmpty()) {
            System.out.println("SECURED names no broker that asks who calls: rules are not tried");
            return;
        }
        File config = File.createTempFile("compat-", ".properties");
        Files.writeString(config.toPath(), "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
                + "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"token\" password=\""
                + System.getenv("SECURED_TOKEN") + "\";\n");
        String principal = "User:" + Lab.name("ada");
        String[] base = {"--bootstrap-server", secured, "--command-config", config.getPath()};
        String[] rule = {"--topic", "orders-", "--resource-pattern-type", "prefixed"};
        try {
            says(run("AclCommand", with(with(base, rule), "--add", "--allow-principal", principal, "--producer")),
                    "operation=WRITE", "operation=CREATE");
            String[] listed = with(base, "--list", "--principal", principal);
            says(run("AclCommand", listed), "patternType=PREFIXED", "name=orders-", "permissionType=ALLOW");
            run("AclCommand", with(with(base, rule), "--remove", "--allow-principal", principal, "--producer", "--force"));
            Lab.check(!run("AclCommand", listed).contains("orders-"), "no rule is left");
        } finally {
            config.delete();
        }
    }

    private static String[] with(String[] arguments, String... more) {
        List<String> all = new ArrayList<>(Arrays.asList(arguments));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }
}
