import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topics, configurations, offsets and groups as the admin client sees them. */
final class Admins {
    private Admins() {}

    private static NewTopic plain(String name, int partitions) {
        return new NewTopic(name, partitions, (short) 1);
    }

    private static Map<String, String> config(Lab lab, String topic) {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return Lab.get(lab.admin().describeConfigs(List.of(resource)).values().get(resource)).entries().stream()
                .filter(each -> each.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
                .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value));
    }

    @Case
    static void topics_are_created_described_and_deleted_by_name_and_by_id(Lab lab) {
        String topic = Lab.name("t");
        var created = lab.admin().createTopics(List.of(plain(topic, 3)));
        Lab.same(3, Lab.get(created.numPartitions(topic)));
        var id = Lab.get(created.topicId(topic));
        Lab.refused(TopicExistsException.class, () -> Lab.get(lab.admin().createTopics(List.of(plain(topic, 1))).all()));
        var found = Lab.get(lab.admin().describeTopics(List.of(topic)).topicNameValues().get(topic));
        Lab.same(id, found.topicId());
        Lab.same(3, found.partitions().size());
        var ids = TopicCollection.ofTopicIds(List.of(id));
        Lab.same(topic, Lab.get(lab.admin().describeTopics(ids).topicIdValues().get(id)).name());
        Lab.check(Lab.get(lab.admin().listTopics().names()).contains(topic), "it is listed");
        Lab.get(lab.admin().deleteTopics(ids).all());
        Lab.eventually("it is gone", () -> !Lab.get(lab.admin().listTopics().names()).contains(topic));
        Lab.refused(UnknownTopicIdException.class, () -> Lab.get(lab.admin().deleteTopics(ids).all()));
    }

    @Case
    static void what_cannot_be_a_topic_is_refused_and_what_is_only_validated_is_not_created(Lab lab) {
        var admin = lab.admin();
        Lab.refused(InvalidTopicException.class, () -> Lab.get(admin.createTopics(List.of(plain("a b", 1))).all()));
        Lab.refused(InvalidPartitionsException.class, () -> Lab.get(admin.createTopics(List.of(plain("none", 0))).all()));
        var wrong = plain(Lab.name("t"), 1).configs(Map.of("no.such.thing", "1"));
        Lab.refused(InvalidConfigurationException.class, () -> Lab.get(admin.createTopics(List.of(wrong)).all()));
        String topic = Lab.name("t");
        Lab.get(admin.createTopics(List.of(plain(topic, 1)), new CreateTopicsOptions().validateOnly(true)).all());
        Lab.refused(UnknownTopicOrPartitionException.class,
                () -> Lab.get(admin.describeTopics(List.of(topic)).allTopicNames()));
    }

    @Case
    static void partitions_are_added_and_never_taken_away(Lab lab) {
        String topic = lab.topic(2);
        Lab.get(lab.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all());
        Lab.eventually("five partitions", () ->
                Lab.get(lab.admin().describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size() == 5);
        Lab.refused(InvalidPartitionsException.class,
                () -> Lab.get(lab.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all()));
    }

    @Case
    static void configurations_are_set_and_deleted(Lab lab) {
        String topic = lab.topic(1, "retention.ms", "60000");
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Lab.same(Map.of("retention.ms", "60000"), config(lab, topic));
        Collection<AlterConfigOp> changes = List.of(
                new AlterConfigOp(new ConfigEntry("retention.bytes", "1000000"), AlterConfigOp.OpType.SET),
                new AlterConfigOp(new ConfigEntry("retention.ms", null), AlterConfigOp.OpType.DELETE));
        Lab.get(lab.admin().incrementalAlterConfigs(Map.of(resource, changes)).all());
        Lab.eventually("the change", () -> config(lab, topic).equals(Map.of("retention.bytes", "1000000")));
        Collection<AlterConfigOp> wrong =
                List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "soon"), AlterConfigOp.OpType.SET));
        Lab.refused(InvalidConfigurationException.class,
                () -> Lab.get(lab.admin().incrementalAlterConfigs(Map.of(resource, wrong)).all()));
    }

    @Case
    static void the_cluster_names_its_brokers_their_settings_folders_and_features(Lab lab) {
        var cluster = lab.admin().describeCluster();
        var node = Lab.get(cluster.nodes()).iterator().next();
        Lab.check(!Lab.get(cluster.clusterId()).isEmpty(), "a cluster has an id");
        Lab.check(Lab.get(cluster.nodes()).contains(Lab.get(cluster.controller())), "the controller is one of the nodes");
        var broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString());
        var settings = Lab.get(lab.admin().describeConfigs(List.of(broker)).values().get(broker));
        Lab.same("true", settings.get("auto.create.topics.enable").value());
        String topic = lab.topic(1);
        Lab.send(lab.producer(), topic, 0, "x".repeat(10_000));
        // With several brokers, whichever leads the partition knows its size.
        var ids = Lab.get(cluster.nodes()).stream().map(each -> each.id()).toList();
        long size = Lab.get(lab.admin().describeLogDirs(ids).allDescriptions()).values().stream()
                .flatMap(folders -> folders.values().stream())
                .flatMap(folder -> folder.replicaInfos().entrySet().stream())
                .filter(each -> each.getKey().topic().equals(topic))
                .mapToLong(each -> each.getValue().size())
                .max()
                .orElse(0);
        Lab.check(size >= 10_000, "10 000 bytes were written, and " + size + " are there");
        var features = Lab.get(lab.admin().describeFeatures().featureMetadata()).finalizedFeatures();
        Lab.check(features.get("transaction.version").maxVersionLevel() >= 2, "transactions of KIP-890: " + features);
    }

    @Case
    static void offsets_are_listed_by_every_specification(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        var producer = lab.producer();
        for (long at : List.of(1000L, 5000L, 3000L)) {
            Lab.get(producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + at, null, "v")));
        }
        Map<OffsetSpec, Long> expected = Map.of(
                OffsetSpec.earliest(), 0L,
                OffsetSpec.earliestLocal(), 0L,
                OffsetSpec.latest(), 3L,
                OffsetSpec.maxTimestamp(), 1L,
                OffsetSpec.forTimestamp(1_700_000_002_000L), 1L);
        expected.forEach((spec, offset) ->
                Lab.same(offset, Lab.get(lab.admin().listOffsets(Map.of(place, spec)).partitionResult(place)).offset()));
        Lab.same(-1L, Lab.get(lab.admin()
                .listOffsets(Map.of(place, OffsetSpec.forTimestamp(1_800_000_000_000L))).partitionResult(place)).offset());
    }

    @Case
    static void deleted_records_are_gone(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        Lab.send(lab.producer(), topic, 0, Lab.numbers(10));
        var deleted = lab.admin().deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(6)));
        Lab.same(6L, Lab.get(deleted.lowWatermarks().get(place)).lowWatermark());
        Lab.same(List.of("6", "7", "8", "9"), lab.everything(topic, 0));
        Lab.refused(OffsetOutOfRangeException.class,
                () -> Lab.get(lab.admin().deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(99))).all()));
    }

    @Case
    static void groups_are_listed_described_and_deleted_when_they_are_empty(Lab lab) {
        for (String protocol : List.of("classic", "consumer")) {
            String topic = lab.topic(2);
            String group = Lab.name("g");
            var member = lab.consumer("group.id", group, "group.protocol", protocol, "client.id", "me");
            member.subscribe(List.of(topic));
            Lab.poll(new HashSet<>(), () -> member.assignment().size() == 2, List.of(member));
            member.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)));
            var type = GroupType.parse(protocol);
            var listed = Lab.get(lab.admin().listGroups(new ListGroupsOptions().withTypes(Set.of(type))).valid()).stream()
                    .filter(each -> each.groupId().equals(group))
                    .toList();
            Lab.same(1, listed.size());
            Lab.same(GroupState.STABLE, listed.get(0).groupState().orElseThrow());
            var found = Lab.get(lab.admin().describeConsumerGroups(List.of(group)).describedGroups().get(group));
            Lab.same(type, found.type());
            Lab.same(GroupState.STABLE, found.groupState());
            Lab.same(List.of("me"), found.members().stream().map(each -> each.clientId()).toList());
            Lab.same(member.assignment(), found.members().iterator().next().assignment().topicPartitions());
            Lab.refused(GroupNotEmptyException.class,
                    () -> Lab.get(lab.admin().deleteConsumerGroups(List.of(group)).all()));
            member.close();
            Lab.eventually("it is empty", () -> Lab.get(lab.admin().listGroups(
                            new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))).valid()).stream()
                    .map(GroupListing::groupId)
                    .anyMatch(group::equals));
            Lab.get(lab.admin().deleteConsumerGroups(List.of(group)).all());
            Lab.refused(GroupIdNotFoundException.class,
                    () -> Lab.get(lab.admin().deleteConsumerGroups(List.of(group)).all()));
        }
    }

    @Case
    static void offsets_of_several_groups_are_read_at_once_altered_and_deleted(Lab lab) {
        String topic = lab.topic(2);
        TopicPartition zero = new TopicPartition(topic, 0);
        TopicPartition one = new TopicPartition(topic, 1);
        List<String> groups = List.of(Lab.name("g"), Lab.name("g"));
        for (String group : groups) {
            var places = Map.of(zero, new OffsetAndMetadata(3), one, new OffsetAndMetadata(5, "note"));
            Lab.get(lab.admin().alterConsumerGroupOffsets(group, places).all());
        }
        Lab.get(lab.admin().deleteConsumerGroupOffsets(groups.get(1), Set.of(one)).all());
        var asked = groups.stream().collect(Collectors.toMap(each -> each, each -> new ListConsumerGroupOffsetsSpec()));
        var found = Lab.get(lab.admin().listConsumerGroupOffsets(asked).all());
        Lab.same(Set.of(zero, one), found.get(groups.get(0)).keySet());
        Lab.same("note", found.get(groups.get(0)).get(one).metadata());
        Lab.same(Set.of(zero), found.get(groups.get(1)).keySet());
    }

    @Case
    static void a_static_member_is_removed_by_its_instance_id(Lab lab) {
        String topic = lab.topic(1);
        String group = Lab.name("g");
        var member = lab.consumer("group.id", group, "group.instance.id", "one");
        member.subscribe(List.of(topic));
        Lab.poll(new HashSet<>(), () -> member.assignment().size() == 1, List.of(member));
        member.close();
        var gone = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one")));
        Lab.get(lab.admin().removeMembersFromConsumerGroup(group, gone).all());
        Lab.eventually("the group is empty", () ->
                Lab.get(lab.admin().describeConsumerGroups(List.of(group)).all()).get(group).members().isEmpty());
    }
}
