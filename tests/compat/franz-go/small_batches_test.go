package compat

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const partitions, records = 3, 6

// Transactions of six records over three partitions, each record a batch of its own and several in flight together.
// A gap in the sequences would fail a transaction.  TRANSACTIONS is their number.
func TestSmallBatches(t *testing.T) {
	count := 1000
	if os.Getenv("QUICK") == "1" {
		count = 100
	}
	if given, err := strconv.Atoi(os.Getenv("TRANSACTIONS")); err == nil {
		count = given
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	seeds := kgo.SeedBrokers(strings.Split(os.Getenv("KGO_SEEDS"), ",")...)
	topic := fmt.Sprintf("small-%d", time.Now().UnixNano())
	producer, err := kgo.NewClient(seeds, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(512),
		kgo.RecordRetries(20))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	create := kmsg.NewPtrCreateTopicsRequest()
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = topic, partitions, 1
	create.Topics = append(create.Topics, wanted)
	if _, err := create.RequestWith(ctx, producer); err != nil {
		t.Fatal(err)
	}
	expected := map[int32][]string{}
	for number := 0; number < count; number++ {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatalf("transaction %d: begin: %v", number, err)
		}
		for record := 0; record < records; record++ {
			partition, value := int32(record%partitions), fmt.Sprintf("%d-%d", number, record)
			expected[partition] = append(expected[partition], value)
			one := &kgo.Record{Partition: partition, Key: make([]byte, 300), Value: []byte(value)} // no two fit a batch
			producer.Produce(ctx, one, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("transaction %d: produce: %v", number, err)
				}
			})
		}
		if err := producer.Flush(ctx); err != nil {
			t.Fatalf("transaction %d: flush: %v", number, err)
		}
		if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
			t.Fatalf("transaction %d: commit: %v", number, err)
		}
	}
	starts := map[string]map[int32]kgo.Offset{topic: {}}
	for partition := int32(0); partition < partitions; partition++ {
		starts[topic][partition] = kgo.NewOffset().AtStart()
	}
	reader, err := kgo.NewClient(seeds, kgo.ConsumePartitions(starts), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	found := map[int32][]string{}
	for total := 0; total < count*records; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records were read: %v", total, count*records, err)
		}
		fetches.EachRecord(func(each *kgo.Record) {
			found[each.Partition] = append(found[each.Partition], string(each.Value))
			total++
		})
	}
	if !reflect.DeepEqual(found, expected) {
		t.Fatal("the partitions do not hold every record once and in order")
	}
}
