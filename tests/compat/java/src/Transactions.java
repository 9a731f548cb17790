import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.protocol.Errors;

/**
 * All of it or nothing, one owner of a transactional id, and an end in time.
 *
 * <p>Records are flushed before a transaction ends: now and then the client sends EndTxn ahead of a record that was
 * handed to it a moment before, which a broker can only refuse (FINDINGS.md, "EndTxn overtakes a record").
 */
final class Transactions {
    private Transactions() {}

    private static void commit(Producer<String, String> producer, String topic, String... values) {
        producer.beginTransaction();
        Lab.send(producer, topic, 0, values);
        producer.commitTransaction();
    }

    @Case
    static void a_committed_transaction_over_several_topics_is_read_whole(Lab lab) {
        String first = lab.topic(2);
        String second = lab.topic(1);
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        for (String value : Lab.numbers(60)) {
            producer.send(new ProducerRecord<>(first, 0, null, value));
            producer.send(new ProducerRecord<>(first, 1, null, value));
            producer.send(new ProducerRecord<>(second, 0, null, value));
        }
        producer.flush();
        producer.commitTransaction();
        List<String> expected = Arrays.asList(Lab.numbers(60));
        Lab.same(List.of(expected, expected, expected),
                List.of(lab.everything(first, 0), lab.everything(first, 1), lab.everything(second, 0)));
    }

    @Case
    static void an_aborted_transaction_is_seen_only_by_those_who_read_everything(Lab lab) {
        String topic = lab.topic(1);
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "aborted");
        producer.abortTransaction();
        commit(producer, topic, "kept");
        Lab.same(List.of("kept"), lab.everything(topic, 0));
        Lab.same(List.of("aborted", "kept"), lab.everything(topic, 0, "read_uncommitted"));
    }

    /** Each record is a batch of its own, and several are in flight together: a gap would fail a transaction. */
    @Case(seconds = 400)
    static void small_batches_in_flight_together_make_no_transaction_fail(Lab lab) {
        String given = System.getenv("TRANSACTIONS");
        int count = "1".equals(System.getenv("QUICK")) ? 100 : 1_000;
        count = given == null || given.isEmpty() ? count : Integer.parseInt(given);
        String topic = lab.topic(3);
        var producer = lab.transactional(Lab.name("tx"), "linger.ms", 0, "batch.size", 1);
        List<List<String>> expected = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (int number = 0; number < count; number++) {
            producer.beginTransaction();
            for (int record = 0; record < 6; record++) {
                String value = number + "-" + record;
                producer.send(new ProducerRecord<>(topic, record % 3, null, value));
                expected.get(record % 3).add(value);
            }
            producer.flush();
            producer.commitTransaction();
        }
        Lab.same(expected, List.of(lab.everything(topic, 0), lab.everything(topic, 1), lab.everything(topic, 2)));
    }

    @Case
    static void a_hundred_transactions_in_a_row_commit_and_abort_in_turn(Lab lab) {
        String topic = lab.topic(3);
        var producer = lab.transactional(Lab.name("tx"), "linger.ms", 0);
        for (int number = 0; number < 100; number++) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, number % 3, null, Integer.toString(number)));
            producer.flush();
            if (number % 5 == 4) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
        List<Integer> read = new ArrayList<>();
        IntStream.range(0, 3).forEach(each -> lab.everything(topic, each).forEach(value -> read.add(Integer.valueOf(value))));
        Lab.same(IntStream.range(0, 100).filter(number -> number % 5 != 4).boxed().toList(), read.stream().sorted().toList());
    }

    @Case
    static void an_open_transaction_holds_back_what_lies_behind_it(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        var plain = lab.producer();
        var producer = lab.transactional(Lab.name("tx"));
        Lab.send(plain, topic, 0, "before");
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "in doubt");
        Lab.send(plain, topic, 0, "behind");
        var reader = lab.consumer("isolation.level", "read_committed");
        reader.assign(List.of(place));
        Lab.same(List.of("before"), Lab.within(reader, 1500));
        Lab.same(Map.of(place, 1L), reader.endOffsets(List.of(place)));
        Lab.same(List.of("before", "in doubt", "behind"), lab.everything(topic, 0, "read_uncommitted"));
        producer.commitTransaction();
        Lab.same(List.of("in doubt", "behind"), Lab.values(Lab.read(reader, 2)));
    }

    @Case
    static void a_second_instance_fences_the_first_and_ends_its_transaction(Lab lab) {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var first = lab.transactional(same);
        first.beginTransaction();
        Lab.send(first, topic, 0, "of the first");
        commit(lab.transactional(same), topic, "of the second");
        Lab.refused(ProducerFencedException.class, () -> {
            first.commitTransaction();
            return null;
        });
        Lab.same(List.of("of the second"), lab.everything(topic, 0));
    }

    @Case
    static void a_fenced_instance_cannot_write_any_more(Lab lab) {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var first = lab.transactional(same);
        commit(first, topic, "early");
        lab.transactional(same);
        first.beginTransaction();
        Lab.refused(KafkaException.class, () -> Lab.send(first, topic, 0, "late"));
        Lab.refused(KafkaException.class, () -> {
            first.commitTransaction();
            return null;
        });
        Lab.same(List.of("early"), lab.everything(topic, 0));
    }

    @Case
    static void a_transaction_goes_on_after_one_that_had_to_be_aborted(Lab lab) {
        String topic = lab.topic(1, "max.message.bytes", "20000");
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "small");
        Lab.refused(RecordTooLargeException.class, () -> Lab.send(producer, topic, 0, "x".repeat(50_000)));
        Lab.refused(KafkaException.class, () -> {
            producer.commitTransaction();
            return null;
        });
        producer.abortTransaction();
        commit(producer, topic, "next");
        Lab.same(List.of("next"), lab.everything(topic, 0));
    }

    @Case
    static void records_are_consumed_transformed_and_produced_exactly_once_in_a_classic_group(Lab lab) {
        transform(lab, "classic");
    }

    @Case
    static void records_are_consumed_transformed_and_produced_exactly_once_in_a_group_of_the_new_protocol(Lab lab) {
        transform(lab, "consumer");
    }

    private static void transform(Lab lab, String protocol) {
        String source = lab.topic(1);
        String target = lab.topic(1);
        TopicPartition place = new TopicPartition(source, 0);
        Lab.send(lab.producer(), source, 0, Lab.numbers(200));
        var producer = lab.transactional(Lab.name("tx"));
        var worker = lab.consumer("group.id", Lab.name("g"), "group.protocol", protocol, "max.poll.records", 20);
        worker.subscribe(List.of(source));
        for (int attempt = 0; attempt < 11; attempt++) {
            var records = Lab.read(worker, 20);
            producer.beginTransaction();
            records.forEach(each -> producer.send(new ProducerRecord<>(target, each.value() + "!")));
            var next = Map.of(place, new OffsetAndMetadata(records.get(19).offset() + 1));
            producer.sendOffsetsToTransaction(next, worker.groupMetadata());
            if (attempt == 4) {
                // This one is given up: its records are read once more.
                producer.abortTransaction();
                worker.seek(place, worker.committed(Set.of(place)).get(place).offset());
            } else {
                producer.commitTransaction();
            }
        }
        Lab.same(200L, worker.committed(Set.of(place)).get(place).offset());
        Lab.same(Arrays.stream(Lab.numbers(200)).map(value -> value + "!").toList(), lab.everything(target, 0));
    }

    @Case
    static void offsets_of_a_member_that_left_are_refused(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        String group = Lab.name("g");
        Lab.send(lab.producer(), topic, 0, "v");
        Consumer<String, String> worker = lab.consumer("group.id", group);
        worker.subscribe(List.of(topic));
        Lab.read(worker, 1);
        var stale = worker.groupMetadata();
        worker.close();
        Consumer<String, String> following = lab.consumer("group.id", group);
        following.subscribe(List.of(topic));
        Lab.read(following, 1);
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "of a zombie");
        Lab.refused(CommitFailedException.class, () -> {
            producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(1)), stale);
            return null;
        });
        producer.abortTransaction();
    }

    @Case
    static void a_transaction_that_is_not_ended_in_time_is_aborted_and_its_owner_told(Lab lab) {
        String topic = lab.topic(1);
        var producer = lab.transactional(Lab.name("tx"), "transaction.timeout.ms", 2000);
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "forgotten");
        Lab.send(lab.producer(), topic, 0, "behind");
        Lab.eventually("the timeout", () -> lab.everything(topic, 0).equals(List.of("behind")));
        Lab.refused(KafkaException.class, () -> {
            producer.commitTransaction();
            return null;
        });
        Lab.same(List.of("behind"), lab.everything(topic, 0));
    }

    /** KIP-890: the abort returns the epoch that the timeout has created. */
    @Case
    static void a_producer_whose_transaction_timed_out_aborts_and_goes_on(Lab lab) {
        String topic = lab.topic(1);
        var producer = lab.transactional(Lab.name("tx"), "transaction.timeout.ms", 2000);
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "late");
        Lab.send(lab.producer(), topic, 0, "behind");
        Lab.eventually("the timeout", () -> lab.everything(topic, 0).equals(List.of("behind")));
        Lab.refused(InvalidProducerEpochException.class, () -> Lab.send(producer, topic, 0, "more"));
        producer.abortTransaction();
        commit(producer, topic, "next");
        Lab.same(List.of("behind", "next"), lab.everything(topic, 0));
    }

    @Case
    static void a_timeout_above_the_brokers_limit_is_refused(Lab lab) {
        // The client wraps it in an error of no particular class.
        var error = Lab.refused(KafkaException.class,
                () -> lab.transactional(Lab.name("tx"), "transaction.timeout.ms", 2_000_000_000));
        Lab.check(error.getMessage().contains(Errors.INVALID_TRANSACTION_TIMEOUT.message()), error.toString());
    }

    @Case
    static void every_end_of_a_transaction_raises_the_producers_epoch(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        var producer = lab.transactional(Lab.name("tx"));
        List<Integer> epochs = new ArrayList<>();
        for (int count = 0; count < 4; count++) {
            producer.beginTransaction();
            Lab.send(producer, topic, 0, "v");
            var state = Lab.get(lab.admin().describeProducers(List.of(place)).partitionResult(place));
            epochs.add(state.activeProducers().get(0).producerEpoch());
            producer.commitTransaction();
        }
        Lab.same(IntStream.range(epochs.get(0), epochs.get(0) + 4).boxed().toList(), epochs);
    }

    @Case
    static void transactions_of_a_hundred_partitions_are_read_whole(Lab lab) {
        String topic = lab.topic(100);
        var producer = lab.transactional(Lab.name("tx"), "linger.ms", 5);
        for (int round = 0; round < 3; round++) {
            producer.beginTransaction();
            for (int partition = 0; partition < 100; partition++) {
                producer.send(new ProducerRecord<>(topic, partition, null, "v" + round));
            }
            producer.flush();
            if (round == 1) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
        var reader = lab.consumer("isolation.level", "read_committed", "max.poll.interval.ms", 60_000);
        reader.assign(IntStream.range(0, 100).mapToObj(each -> new TopicPartition(topic, each)).toList());
        Lab.same(200, Lab.read(reader, 200).size());
        Lab.same(0, reader.poll(Duration.ofMillis(300)).count());
    }
}
