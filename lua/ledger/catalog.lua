#!lua
--[[ ledger/catalog: change one topic's catalog entry if it still is what the caller saw, and raise the version.

KEYS        1 topics  2 state
ARGV        1 topic  2 entry as the caller knows it ("" absent)  3 new entry  4 now_ms  5 cluster id that it knows, or ""
RETURNS     {OK, version} | {STALE, entry now or ""} | {OTHER_CLUSTER, cluster id or ""}
COMPLEXITY  O(1)
WRITES      only when the entry is as expected; a retry that finds the new entry answers OK
SOURCE      docs/architecture.md "topics"
]]
--- @include "include/catalog_entry"
return change_entry(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
