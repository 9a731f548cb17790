"""Every kind of difference: what it means for clients, and what --repair does about it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """repair: "" if nothing can be rebuilt."""

    meaning: str
    repair: str = ""


KINDS: Final = {
    # partitions
    "partition_state": Kind(
        "Appends and readers of the partition use a wrong value.", "writes the value that the log and the ledgers give"
    ),
    "log_gap": Kind("Readers skip these offsets; records that were there are lost."),
    "log_order": Kind("Readers may get records twice or out of order. Nothing is rebuilt."),
    "log_entry": Kind("Readers of the partition fail at this entry. Nothing is rebuilt."),
    "payload": Kind("The records are lost unless a backup has them. Readers fail there until they seek past them."),
    "open_transaction": Kind(
        "The stable offset stands still, or records of an undecided transaction are visible.",
        "writes the row that the log gives, or removes the one that nothing in the log needs",
    ),
    "open_first": Kind("The stable offset is wrong.", "writes the first offset that the log gives"),
    "aborted": Kind(
        "Committed readers see records of an aborted transaction, or miss committed ones.",
        "writes the member that the log gives, or removes the one that it contradicts",
    ),
    "producer_window": Kind(
        "A retried batch is stored twice, or a producer is refused.", "rebuilds the window from the log"
    ),
    "snapshot": Kind(
        "Clients notice nothing. Rebuilding the indexes takes longer.",
        "deletes it; brokers make the next one from the log",
    ),
    "ledger_row": Kind(
        "Appends are refused, or payload is kept too long or deleted too early.",
        "writes the counts that the stream and the log give",
    ),
    "marker": Kind("Readers have seen another outcome than the one that was decided. Nothing is rebuilt."),
    "ended_open": Kind(
        "The stable offset stands still, or messages stay held.",
        "carries the outcome to the partition once more; for an unknown transaction, an abort",
    ),
    "not_registered": Kind(
        "The end of the transaction will not reach this partition.", "registers the partition with the transaction"
    ),
    "watermark": Kind(
        "The partition will abort a transaction that is still open.", "lowers the watermark below the open transactions"
    ),
    # keys
    "key_missing": Kind("Scripts that name the key fail while slots move.", "makes the key, empty, before its content"),
    "key_type": Kind("Every script that uses the key fails. Delete the key by its name (--delete), then repair."),
    "key_orphan": Kind("Nothing refers to this key; it only costs memory. It is deleted if it is named (--delete)."),
    "key_unknown": Kind("redis-ledger has no key of this name. It is deleted if it is named (--delete)."),
    # subscriptions
    "subscription": Kind(
        "Consumers of the subscription fail, or messages are not delivered.",
        "adds the missing half: the name to the list, or the fields that the others give",
    ),
    "lease_index": Kind(
        "A message is not delivered again when its lease runs out, or an acknowledgement misses it.",
        "rebuilds the index from the leases",
    ),
    "slot_queue": Kind(
        "A key_shared subscription delivers records of a key out of order, or not at all.",
        "rebuilds the queues of slots; a record that no queue has is delivered as one without a key",
    ),
    "lease": Kind("A message cannot be acknowledged or delivered.", "removes the lease; what it held is delivered"),
    "cursor_count": Kind(
        "Statistics are wrong, and acknowledged messages may be delivered again or new ones passed over.",
        "writes the count that leases and pending acknowledgements give",
    ),
    "cursor_range": Kind("The position of the subscription is wrong.", "moves it into the range of the log"),
    "cursor_acks": Kind(
        "Messages are delivered although they are acknowledged, or not delivered at all.",
        "makes the offsets that nothing holds due for delivery, or clears bits of those that are leased",
    ),
    "cursor_pending": Kind(
        "Messages stay held by a transaction that is over.", "gives what is held back for delivery, or names it again"
    ),
    "register": Kind("A Kafka group cannot read or commit its offset.", "writes what can be derived"),
    # delayed records
    "delay_state": Kind("Counts are wrong, or firing stops.", "writes the value that the index and the ledgers give"),
    "delay_index": Kind(
        "A delayed record is never delivered.", "puts it back into the queue, from its delay ledger"
    ),
    "delay_bucket": Kind("Delayed records of the bucket are late.", "rebuilds the bucket from its delay ledgers"),
    "delay_live": Kind(
        "A delayed record is never delivered, or its payload is kept.", "rebuilds the bits from the indexes"
    ),
    "delay_unlogged": Kind(
        "A ledger is deleted too early or never.", "writes the number of entries that are pending"
    ),
    "delay_held": Kind("Delayed records of a transaction are lost or never settled.", "writes what the batches give"),
    "delay_payload": Kind("A delayed record cannot be delivered: its payload is lost.", "clears its live bit"),
    # sidecar buffer
    "sidecar_row": Kind(
        "The commit of the transaction publishes a wrong number of records.", "writes the totals that the batches give"
    ),
    "sidecar_batch": Kind(
        "Readers stop at the transaction: a batch of it is missing.", "removes a member of another form"
    ),
    "sidecar_payload": Kind("Records of the open transaction are lost; readers will stop at them. Abort it."),
    "sidecar_stray": Kind(
        "Records of the transaction are not committed, or their payload is kept for ever.",
        "gives them back to the transaction if its coordinator knows it; else marks them for deletion",
    ),
    # coordinators
    "coordinator_state": Kind(
        "Numbers of transactions may be handed out twice, or begin is refused.", "writes a safe value"
    ),
    "txn_index": Kind(
        "The transaction is never timed out, or its end is not completed.", "rebuilds the index from the transactions"
    ),
    "txn_row": Kind(
        "The transaction cannot be ended by its producer.", "rebuilds the row from the transaction log"
    ),
    "txn_log": Kind("The transaction log keeps records that nothing needs.", "corrects the live bits"),
    "txn_log_entry": Kind("Its records cannot be used to rebuild transactions. Nothing is rebuilt."),
    "coordinator_call": Kind("A call of a broker whose reply was lost may be carried out twice.", "removes it"),
    "outcome_index": Kind("The outcome is kept for ever, or forgotten too early.", "rebuilds the index"),
    "nonce": Kind("A repeated begin may get a transaction that is over.", "removes the nonce"),
    "participants": Kind("The end of the transaction will not reach these participants.", "removes what no row needs"),
    "transactional_id": Kind("A producer with this transactional id is refused.", "removes the row"),
    # groups, history, catalog
    "group": Kind("Members of the group are lost or listed wrongly.", "corrects the count"),
    "group_topics": Kind("Offsets of the group are not listed and not expired.", "adds the topic or the group"),
    "offload_segment": Kind("These offsets cannot be read. The files of a backup of the manifest would be needed."),
    "offload": Kind("Readers of history miss records, or the next offload fails.", "corrects what the segments give"),
    "catalog_entry": Kind(
        "The topic does not exist for clients, although its partitions do.",
        "writes the entry that the partitions give; the settings of the topic are lost",
    ),
    "catalog_partition": Kind("Requests for the partition fail.", "makes the partition again, empty"),
    "leader_epoch": Kind("The entry only costs memory.", "removes it"),
    "catalog_state": Kind("Brokers may not start.", "writes what the other keys give"),
    "metadata": Kind("The entry is ignored or stops brokers. Remove it with HDEL, and add it again."),
}  # fmt: skip
