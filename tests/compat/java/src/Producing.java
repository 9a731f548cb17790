import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.record.TimestampType;

/** What a producer sends arrives: once, in order, compressed or not. */
final class Producing {
    private Producing() {}

    @Case
    static void an_idempotent_producer_keeps_the_order_of_each_partition(Lab lab) {
        String topic = lab.topic(3);
        Producer<String, String> producer = lab.producer("batch.size", 500, "linger.ms", 0);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int number = 0; number < 3000; number++) {
            sent.add(producer.send(new ProducerRecord<>(topic, number % 3, null, Integer.toString(number / 3))));
        }
        for (int number = 0; number < 3000; number++) {
            Lab.same((long) number / 3, Lab.get(sent.get(number)).offset());
        }
        for (int partition = 0; partition < 3; partition++) {
            Lab.same(Arrays.asList(Lab.numbers(1000)), lab.everything(topic, partition));
        }
    }

    @Case
    static void records_arrive_with_every_kind_of_acknowledgement(Lab lab) {
        for (String acks : List.of("0", "1", "all")) {
            String topic = lab.topic(1);
            Lab.send(lab.producer("acks", acks, "enable.idempotence", false), topic, 0, Lab.numbers(50));
            Lab.eventually("50 records", () -> lab.everything(topic, 0).equals(Arrays.asList(Lab.numbers(50))));
        }
    }

    @Case
    static void batches_of_every_codec_are_read_whole(Lab lab) {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            String topic = lab.topic(1);
            String[] values = Arrays.stream(Lab.numbers(200)).map(number -> number.repeat(500)).toArray(String[]::new);
            Lab.send(lab.producer("compression.type", codec, "linger.ms", 20), topic, 0, values);
            Lab.same(Arrays.asList(values), lab.everything(topic, 0));
        }
    }

    @Case
    static void key_value_headers_and_time_come_back_as_they_were_sent(Lab lab) {
        String topic = lab.topic(1);
        Producer<String, String> producer = lab.producer();
        var first = new ProducerRecord<>(topic, 0, 1_700_000_000_123L, "k", "v");
        first.headers().add("h", "1".getBytes(StandardCharsets.UTF_8)).add("h", null);
        Lab.get(producer.send(first));
        Lab.get(producer.send(new ProducerRecord<>(topic, 0, "gone", null)));
        var consumer = lab.consumer("group.id", Lab.name("g"));
        consumer.subscribe(List.of(topic));
        var got = Lab.read(consumer, 2);
        Lab.same("k", got.get(0).key());
        Lab.same("v", got.get(0).value());
        Lab.same(2, got.get(0).headers().toArray().length);
        Lab.same(1_700_000_000_123L, got.get(0).timestamp());
        Lab.same(TimestampType.CREATE_TIME, got.get(0).timestampType());
        Lab.same("gone", got.get(1).key());
        Lab.check(got.get(1).value() == null, "a tombstone has no value");
    }

    @Case
    static void a_batch_above_the_topics_limit_is_refused_and_a_smaller_one_is_not(Lab lab) {
        String topic = lab.topic(1, "max.message.bytes", "20000");
        Producer<String, String> producer = lab.producer();
        Lab.refused(RecordTooLargeException.class, () -> Lab.send(producer, topic, 0, "x".repeat(50_000)));
        Lab.same(List.of(0L), Lab.send(producer, topic, 0, "x".repeat(10_000)));
    }

    @Case
    static void a_produce_to_an_unknown_topic_creates_it(Lab lab) {
        String topic = Lab.name("auto");
        Lab.same(List.of(0L), Lab.send(lab.producer(), topic, 0, "first"));
        Lab.same(List.of("first"), lab.everything(topic, 0));
    }

    @Case
    static void many_partitions_share_a_request(Lab lab) {
        String topic = lab.topic(50);
        Producer<String, String> producer = lab.producer("linger.ms", 50);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            sent.add(producer.send(new ProducerRecord<>(topic, number % 50, null, "v")));
        }
        sent.forEach(Lab::get);
        var consumer = lab.consumer("group.id", Lab.name("g"));
        consumer.subscribe(List.of(topic));
        Lab.same(500L, Lab.read(consumer, 500).stream().map(each -> each.partition() + "@" + each.offset()).distinct().count());
    }
}
