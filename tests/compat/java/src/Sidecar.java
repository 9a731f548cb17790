import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/** Topics with the sidecar buffer, which Apache Kafka does not have: records get their offsets at the commit. */
final class Sidecar {
    private static final int QUIET_MS = 500;

    private Sidecar() {}

    private static Consumer<String, String> reader(Lab lab, TopicPartition place, String isolation) {
        Consumer<String, String> made = lab.consumer("isolation.level", isolation);
        made.assign(List.of(place));
        made.seekToBeginning(List.of(place));
        return made;
    }

    /** These records are there, at offsets from 0 on without a gap: a marker would be one. */
    private static void holds(Consumer<String, String> reader, TopicPartition place, String... values) {
        List<ConsumerRecord<String, String>> got = Lab.read(reader, values.length);
        Lab.same(List.of(values), Lab.values(got));
        Lab.same(LongStream.range(0, values.length).boxed().toList(), got.stream().map(ConsumerRecord::offset).toList());
        Lab.same(List.of(), Lab.within(reader, QUIET_MS));
        Lab.same((long) values.length, reader.position(place));
        Lab.same(Map.of(place, (long) values.length), reader.endOffsets(List.of(place)));
    }

    @Case
    static void records_of_a_sidecar_topic_get_their_offsets_in_the_order_of_the_commits(Lab lab) {
        var place = new TopicPartition(lab.topic(1, "transaction.buffer", "sidecar"), 0);
        String topic = place.topic();
        var first = lab.transactional(Lab.name("tx"));
        var second = lab.transactional(Lab.name("tx"));
        var committed = reader(lab, place, "read_committed");
        var uncommitted = reader(lab, place, "read_uncommitted");
        first.beginTransaction();
        Lab.same(List.of(-1L, -1L), Lab.send(first, topic, 0, "a", "b"));
        second.beginTransaction();
        Lab.same(List.of(-1L), Lab.send(second, topic, 0, "c"));
        Lab.same(List.of(), Lab.within(uncommitted, QUIET_MS));
        Lab.same(List.of(), Lab.within(committed, QUIET_MS));
        Lab.same(Map.of(place, 0L), uncommitted.endOffsets(List.of(place)));
        Lab.same(List.of(0L), Lab.send(lab.producer(), topic, 0, "plain"));
        second.commitTransaction();
        Lab.same(List.of(-1L), Lab.send(first, topic, 0, "d"));
        first.commitTransaction();
        holds(committed, place, "plain", "c", "a", "b", "d");
        holds(uncommitted, place, "plain", "c", "a", "b", "d");
    }

    @Case
    static void an_aborted_transaction_leaves_nothing_in_a_sidecar_topic(Lab lab) {
        var place = new TopicPartition(lab.topic(1, "transaction.buffer", "sidecar"), 0);
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        Lab.send(producer, place.topic(), 0, "aborted");
        producer.abortTransaction();
        producer.beginTransaction();
        Lab.send(producer, place.topic(), 0, "committed");
        producer.commitTransaction();
        for (String isolation : List.of("read_committed", "read_uncommitted")) {
            holds(reader(lab, place, isolation), place, "committed");
        }
    }
}
