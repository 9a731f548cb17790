#!lua
--[[ ledger/catalog: change one topic's catalog entry if it is still the one the caller read, and raise the version.

KEYS        1 topics  2 state
ARGV        1 topic  2 entry that the caller read ("" absent)  3 new entry  4 now_ms  5 cluster id of the caller, or ""
RETURNS     {OK, version} | {STALE, current entry or ""} | {OTHER_CLUSTER, cluster id or ""}
COMPLEXITY  O(1)
WRITES      only if the entry is as expected; a retry that finds the new entry returns OK
SOURCE      docs/architecture.md "topics"
]]
--- @include "include/deadline"
--- @include "include/catalog_entry"
return change_entry(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
