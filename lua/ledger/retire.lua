#!lua flags=allow-oom
--[[ ledger/retire: as ledger/catalog, for a topic that is being deleted: a full Redis lets it through.

KEYS        1 topics  2 state
ARGV        1 topic  2 entry as the caller knows it  3 the entry that says it is being deleted ("" removes it)
            4 now_ms  5 cluster id that it knows, or ""
RETURNS     {OK, version} | {STALE, entry now or ""} | {OTHER_CLUSTER, cluster id or ""}
COMPLEXITY  O(1)
WRITES      only when the entry is as expected; a retry that finds the new entry answers OK
SOURCE      docs/architecture.md "deleting a topic"
]]
--- @include "include/entry"
return change_entry(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
