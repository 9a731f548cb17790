import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** What KIP-664 lets an operator see of transactions, and do to them. */
final class TransactionAdmins {
    private TransactionAdmins() {}

    private static Set<String> listed(Lab lab, ListTransactionsOptions options) {
        return Lab.get(lab.admin().listTransactions(options).all()).stream()
                .map(TransactionListing::transactionalId)
                .collect(Collectors.toSet());
    }

    private static List<ProducerState> producers(Lab lab, TopicPartition place) {
        return Lab.get(lab.admin().describeProducers(List.of(place)).partitionResult(place)).activeProducers();
    }

    @Case
    static void an_open_transaction_is_listed_by_every_filter_that_fits(Lab lab) {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var producer = lab.transactional(same);
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "v");
        Lab.check(listed(lab, new ListTransactionsOptions()).contains(same), "without a filter");
        var ongoing = new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING));
        Lab.check(listed(lab, ongoing).contains(same), "by state");
        var done = new ListTransactionsOptions().filterStates(Set.of(TransactionState.COMPLETE_COMMIT));
        Lab.check(!listed(lab, done).contains(same), "by another state");
        Lab.check(!listed(lab, new ListTransactionsOptions().filterOnDuration(600_000)).contains(same), "by age");
        var pattern = new ListTransactionsOptions().filterOnTransactionalIdPattern(same.substring(0, 8) + ".*");
        Lab.check(listed(lab, pattern).contains(same), "by pattern");
        long id = Lab.get(lab.admin().describeTransactions(List.of(same)).description(same)).producerId();
        Lab.same(Set.of(same), listed(lab, new ListTransactionsOptions().filterProducerIds(Set.of(id))));
        producer.commitTransaction();
        Lab.eventually("it is done", () -> listed(lab, done).contains(same));
    }

    @Case
    static void a_transaction_and_its_producers_are_described(Lab lab) {
        String topic = lab.topic(2);
        TopicPartition place = new TopicPartition(topic, 1);
        String same = Lab.name("tx");
        Lab.send(lab.producer(), topic, 1, "plain");
        var producer = lab.transactional(same, "transaction.timeout.ms", 30_000);
        producer.beginTransaction();
        Lab.send(producer, topic, 1, "in doubt");
        var found = Lab.get(lab.admin().describeTransactions(List.of(same)).description(same));
        Lab.same(TransactionState.ONGOING, found.state());
        Lab.same(30_000L, found.transactionTimeoutMs());
        Lab.same(Set.of(place), found.topicPartitions());
        Lab.check(Math.abs(System.currentTimeMillis() - found.transactionStartTimeMs().orElse(0)) < 60_000, "its start");
        var state = producers(lab, place).stream().filter(each -> each.producerId() == found.producerId()).findFirst();
        Lab.same(OptionalLong.of(1), state.orElseThrow().currentTransactionStartOffset());
        Lab.same(found.producerEpoch(), state.orElseThrow().producerEpoch());
        producer.abortTransaction();
        Lab.eventually("no transaction is open there", () -> producers(lab, place).stream()
                .allMatch(each -> each.currentTransactionStartOffset().isEmpty()));
        Lab.refused(TransactionalIdNotFoundException.class, () ->
                Lab.get(lab.admin().describeTransactions(List.of("nobody")).description("nobody")));
    }

    @Case
    static void a_transaction_is_aborted_by_its_partition_and_its_producer(Lab lab) {
        String topic = lab.topic(1);
        TopicPartition place = new TopicPartition(topic, 0);
        var producer = lab.transactional(Lab.name("tx"));
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "in doubt");
        Lab.send(lab.producer(), topic, 0, "behind");
        Lab.same(List.of(), lab.everything(topic, 0));
        var open = producers(lab, place).stream()
                .filter(each -> each.currentTransactionStartOffset().isPresent())
                .findFirst()
                .orElseThrow();
        var spec = new AbortTransactionSpec(
                place, open.producerId(), (short) open.producerEpoch(), open.coordinatorEpoch().orElse(0));
        Lab.get(lab.admin().abortTransaction(spec).all());
        Lab.eventually("readers go on", () -> lab.everything(topic, 0).equals(List.of("behind")));
    }

    @Case
    static void a_transactional_id_is_fenced_by_the_admin(Lab lab) {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var producer = lab.transactional(same);
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "in doubt");
        Lab.get(lab.admin().fenceProducers(List.of(same)).all());
        Lab.refused(ProducerFencedException.class, () -> {
            producer.commitTransaction();
            return null;
        });
        Lab.same(List.of(), lab.everything(topic, 0));
    }

    @Case
    static void a_transaction_is_terminated_by_its_transactional_id(Lab lab) {
        String topic = lab.topic(1);
        String same = Lab.name("tx");
        var producer = lab.transactional(same);
        producer.beginTransaction();
        Lab.send(producer, topic, 0, "in doubt");
        Lab.send(lab.producer(), topic, 0, "behind");
        Lab.get(lab.admin().forceTerminateTransaction(same).result());
        Lab.eventually("readers go on", () -> lab.everything(topic, 0).equals(List.of("behind")));
        Lab.refused(KafkaException.class, () -> Lab.get(producer.send(new ProducerRecord<>(topic, 0, null, "late"))));
    }
}
