#!lua flags=allow-oom
--[[ group/claim: make a broker the owner of a group, unless another broker that may be live owns it.

It runs at maxmemory too, since it writes little: members must be able to keep consuming then.

KEYS        1 state  hash  owner (broker), kind, generation, type (protocol type, as the last owner stored it); of the
            members: told (generation last sent to them), membership, members (number), empty (since), m:<id> (rows)
ARGV        1 broker  2 dead  an owner that the caller has found dead, or ""
            3 kind    new kind of its members; a group with stored members keeps its kind
            4 generation  int  the caller's last one; above the stored one if Redis has lost writes
RETURNS     {OK, generation, type, kind, told ("" without stored members), membership, members} | {NOT_OWNER, owner}
COMPLEXITY  O(1)
WRITES      only when it returns OK; a repeated call changes nothing
SOURCE      docs/architecture.md; in Kafka the leader of an offsets partition is the coordinator, here the claiming broker
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "owner", "kind", "generation", "type", "told", "membership", "members")
local owner, kind, generation, type = held[1], held[2], held[3], held[4]
if owner and owner ~= ARGV[1] and owner ~= ARGV[2] then return { NOT_OWNER, owner } end
if tonumber(generation or 0) <= tonumber(ARGV[4]) then generation = ARGV[4] end
if not kind or tonumber(held[7] or 0) == 0 then kind = ARGV[3] end

redis.call("HSET", KEYS[1], "owner", ARGV[1], "kind", kind, "generation", generation)
return { OK, generation, type or "", kind, held[5] or "", held[6] or "", held[7] or "0" }
