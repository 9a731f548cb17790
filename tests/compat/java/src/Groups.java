import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;

/** Groups of both protocols: who has which partitions, and from where they go on. */
final class Groups {
    private Groups() {}

    private static Consumer<String, String> member(Lab lab, String topic, String group, Object... settings) {
        List<Object> all = new ArrayList<>(List.of(settings));
        all.addAll(List.of("group.id", group));
        Consumer<String, String> made = lab.consumer(all.toArray());
        made.subscribe(List.of(topic));
        return made;
    }

    private static int share(Consumer<String, String> member) {
        return member.assignment().size();
    }

    /** One member has four partitions, two have two each, and the second hands its own back. */
    private static void two_members(Lab lab, Object... settings) {
        String topic = lab.topic(4);
        String group = Lab.name("g");
        var producer = lab.producer();
        Set<String> seen = new HashSet<>();
        var first = member(lab, topic, group, settings);
        Lab.poll(seen, () -> share(first) == 4, List.of(first));
        var second = member(lab, topic, group, settings);
        Lab.poll(seen, () -> share(first) == 2 && share(second) == 2, List.of(first, second));
        IntStream.range(0, 4).forEach(partition -> Lab.send(producer, topic, partition, Lab.numbers(5)));
        Lab.poll(seen, () -> seen.size() == 20, List.of(first, second));
        second.close();
        Lab.poll(seen, () -> share(first) == 4, List.of(first));
        IntStream.range(0, 4).forEach(partition -> Lab.send(producer, topic, partition, "more"));
        Lab.poll(seen, () -> seen.size() == 24, List.of(first));
    }

    @Case
    static void two_classic_members_share_by_range(Lab lab) {
        two_members(lab, "group.protocol", "classic", "partition.assignment.strategy", RangeAssignor.class.getName());
    }

    @Case
    static void two_classic_members_share_by_sticky(Lab lab) {
        two_members(lab, "group.protocol", "classic", "partition.assignment.strategy", StickyAssignor.class.getName());
    }

    @Case
    static void two_classic_members_share_by_cooperative_sticky(Lab lab) {
        String strategy = CooperativeStickyAssignor.class.getName();
        two_members(lab, "group.protocol", "classic", "partition.assignment.strategy", strategy);
    }

    @Case
    static void two_members_of_the_new_protocol_share_by_the_uniform_assignor(Lab lab) {
        two_members(lab, "group.protocol", "consumer", "group.remote.assignor", "uniform");
    }

    @Case
    static void two_members_of_the_new_protocol_share_by_the_range_assignor(Lab lab) {
        two_members(lab, "group.protocol", "consumer", "group.remote.assignor", "range");
    }

    @Case
    static void three_members_of_the_new_protocol_lose_no_record_while_they_come_and_go(Lab lab) {
        String topic = lab.topic(6);
        String group = Lab.name("g");
        var producer = lab.producer();
        Set<String> seen = new HashSet<>();
        List<Consumer<String, String>> members = new ArrayList<>();
        for (int round = 1; round <= 6; round++) {
            if (round <= 3) {
                members.add(member(lab, topic, group, "group.protocol", "consumer"));
            } else if (round < 6) {
                members.remove(0).close();
            }
            IntStream.range(0, 6).forEach(partition -> Lab.send(producer, topic, partition, Lab.numbers(10)));
            int sent = round * 60;
            Lab.poll(seen, () -> seen.size() == sent, members);
        }
    }

    @Case
    static void a_cooperative_member_keeps_what_it_need_not_give_away(Lab lab) {
        String topic = lab.topic(4);
        String group = Lab.name("g");
        Set<Integer> revoked = new HashSet<>();
        var listener = new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                partitions.forEach(each -> revoked.add(each.partition()));
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
        };
        Object[] settings = {"partition.assignment.strategy", CooperativeStickyAssignor.class.getName()};
        var first = member(lab, topic, group, settings);
        first.subscribe(List.of(topic), listener);
        Lab.poll(new HashSet<>(), () -> share(first) == 4, List.of(first));
        var second = member(lab, topic, group, settings);
        Lab.poll(new HashSet<>(), () -> share(first) == 2 && share(second) == 2, List.of(first, second));
        Lab.same(second.assignment().stream().map(TopicPartition::partition).collect(Collectors.toSet()), revoked);
    }

    @Case
    static void a_group_goes_on_where_it_committed_in_both_protocols(Lab lab) {
        for (String protocol : List.of("classic", "consumer")) {
            String topic = lab.topic(1);
            TopicPartition place = new TopicPartition(topic, 0);
            String group = Lab.name("g");
            Lab.send(lab.producer(), topic, 0, Lab.numbers(10));
            var first = member(lab, topic, group, "group.protocol", protocol);
            Lab.read(first, 10);
            first.commitSync(Map.of(place, new OffsetAndMetadata(4, "by hand")));
            first.close();
            var second = member(lab, topic, group, "group.protocol", protocol);
            Lab.same(4L, Lab.read(second, 6).get(0).offset());
            Lab.same("by hand", second.committed(Set.of(place)).get(place).metadata());
        }
    }

    @Case
    static void an_empty_group_goes_over_to_the_new_protocol_and_keeps_its_offsets(Lab lab) {
        String topic = lab.topic(1);
        String group = Lab.name("g");
        Lab.send(lab.producer(), topic, 0, Lab.numbers(10));
        var classic = member(lab, topic, group, "group.protocol", "classic", "max.poll.records", 6);
        Lab.read(classic, 6);
        classic.commitSync();
        classic.close();
        var modern = member(lab, topic, group, "group.protocol", "consumer");
        Lab.same(6L, Lab.read(modern, 4).get(0).offset());
    }

    @Case
    static void a_static_member_comes_back_to_its_partitions_without_a_rebalance(Lab lab) {
        String topic = lab.topic(2);
        String group = Lab.name("g");
        AtomicInteger rebalances = new AtomicInteger();
        Object[] one = {"group.instance.id", "one", "session.timeout.ms", 20_000};
        Object[] two = {"group.instance.id", "two", "session.timeout.ms", 20_000};
        var first = member(lab, topic, group, one);
        first.subscribe(List.of(topic), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                rebalances.incrementAndGet();
            }
        });
        var second = member(lab, topic, group, two);
        Lab.poll(new HashSet<>(), () -> share(first) == 1 && share(second) == 1, List.of(first, second));
        var had = second.assignment();
        int before = rebalances.get();
        second.close();
        var again = member(lab, topic, group, two);
        Lab.poll(new HashSet<>(), () -> share(again) == 1, List.of(first, again));
        Lab.same(had, again.assignment());
        Lab.same(before, rebalances.get());
    }

    @Case
    static void of_two_live_members_with_one_instance_id_a_classic_group_fences_the_first(Lab lab) {
        String topic = lab.topic(1);
        String group = Lab.name("g");
        Object[] settings = {"group.instance.id", "same", "heartbeat.interval.ms", 300};
        var first = member(lab, topic, group, settings);
        Lab.poll(new HashSet<>(), () -> share(first) == 1, List.of(first));
        var second = member(lab, topic, group, settings);
        Lab.poll(new HashSet<>(), () -> share(second) == 1, List.of(second));
        Lab.refused(FencedInstanceIdException.class, () -> Lab.within(first, 10_000));
    }

    @Case
    static void of_two_live_members_with_one_instance_id_the_new_protocol_refuses_the_second(Lab lab) {
        String topic = lab.topic(1);
        String group = Lab.name("g");
        Object[] settings = {"group.instance.id", "same", "group.protocol", "consumer"};
        var first = member(lab, topic, group, settings);
        Lab.poll(new HashSet<>(), () -> share(first) == 1, List.of(first));
        var second = member(lab, topic, group, settings);
        Lab.refused(UnreleasedInstanceIdException.class, () -> Lab.within(second, 10_000));
        Lab.poll(new HashSet<>(), () -> share(first) == 1, List.of(first));
    }

    @Case
    static void a_member_that_falls_silent_loses_its_partitions_when_its_session_ends(Lab lab) {
        String topic = lab.topic(2);
        String group = Lab.name("g");
        // A static member does not say goodbye when it is closed.
        var first = member(lab, topic, group, "group.instance.id", "gone", "session.timeout.ms", 6000);
        var second = member(lab, topic, group, "heartbeat.interval.ms", 500);
        Lab.poll(new HashSet<>(), () -> share(first) == 1 && share(second) == 1, List.of(first, second));
        first.close();
        long began = System.nanoTime();
        Lab.poll(new HashSet<>(), () -> share(second) == 2, List.of(second));
        Lab.check(System.nanoTime() - began > 3_000_000_000L, "the session was still running");
    }

    @Case
    static void the_broker_resolves_a_pattern_for_the_new_protocol(Lab lab) {
        String topic = lab.topic(1);
        Lab.send(lab.producer(), topic, 0, "v");
        var reader = lab.consumer("group.id", Lab.name("g"), "group.protocol", "consumer");
        reader.subscribe(new SubscriptionPattern(topic.substring(0, topic.length() - 1) + "."));
        Lab.same(List.of("v"), Lab.values(Lab.read(reader, 1)));
    }

    @Case
    static void a_group_hears_of_new_partitions_and_of_a_new_topic_in_both_protocols(Lab lab) {
        for (String protocol : List.of("classic", "consumer")) {
            String topic = lab.topic(1);
            String later = Lab.name("later");
            var reader = lab.consumer("group.id", Lab.name("g"), "group.protocol", protocol,
                    "metadata.max.age.ms", 500, "allow.auto.create.topics", false);
            reader.subscribe(List.of(topic, later));
            Lab.poll(new HashSet<>(), () -> share(reader) == 1, List.of(reader));
            Lab.get(lab.admin().createTopics(List.of(new NewTopic(later, 3, (short) 1))).all());
            Lab.poll(new HashSet<>(), () -> share(reader) == 4, List.of(reader));
            Lab.get(lab.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all());
            Lab.poll(new HashSet<>(), () -> share(reader) == 5, List.of(reader));
        }
    }

    @Case
    static void offsets_are_found_by_time_and_the_ends_are_known(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        var producer = lab.producer();
        for (int number = 0; number < 10; number++) {
            long at = 1_700_000_000_000L + number * 1000;
            Lab.get(producer.send(new ProducerRecord<>(topic, 0, at, null, "v")));
        }
        var reader = lab.consumer();
        Lab.same(4L, reader.offsetsForTimes(Map.of(place, 1_700_000_003_500L)).get(place).offset());
        Lab.same(Map.of(place, 0L), reader.beginningOffsets(List.of(place)));
        Lab.same(Map.of(place, 10L), reader.endOffsets(List.of(place)));
        reader.assign(List.of(place));
        reader.seek(place, 7);
        Lab.same(7L, Lab.read(reader, 3).get(0).offset());
        Lab.same(0L, reader.currentLag(place).orElse(-1));
    }

    @Case
    static void a_waiting_reader_hears_of_a_record_at_once(Lab lab) {
        String topic = lab.topic(1);
        var reader = lab.consumer("fetch.max.wait.ms", 4000);
        reader.assign(List.of(new TopicPartition(topic, 0)));
        Lab.same(List.of(), Lab.within(reader, 1000));
        var producer = lab.producer("linger.ms", 0);
        Lab.send(producer, topic, 0, "now");
        long began = System.nanoTime();
        Lab.read(reader, 1);
        Lab.check(System.nanoTime() - began < 1_500_000_000L, "the fetch waited its whole four seconds");
    }
}
