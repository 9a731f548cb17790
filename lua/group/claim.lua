#!lua flags=allow-oom
--[[ group/claim: make a broker the owner of a group, unless another one that may live is.

What it costs is so little that it goes on when memory is full: members must be able to read on then.

KEYS        1 state  hash  owner (broker), kind, generation, type (protocol type, as the last owner knew it); of the
            members: told (generation), membership, members (how many), empty (since when), m:<id> (one row for each)
ARGV        1 broker  2 dead  an owner that the caller has found dead, or ""
            3 kind    of its members from now on; a group that has members stored keeps its kind
            4 generation  int  the last one the caller knows of; above the stored one when Redis has lost some
RETURNS     {OK, generation, type, kind, told ("" without stored members), membership, members} | {NOT_OWNER, owner}
COMPLEXITY  O(1)
WRITES      only when it returns OK; a repeated call finds itself the owner
SOURCE      docs/architecture.md; Kafka's group coordinator is a partition leader, this one is a claim
]]
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "owner", "kind", "generation", "type", "told", "membership", "members")
local owner, kind, generation, type = held[1], held[2], held[3], held[4]
if owner and owner ~= ARGV[1] and owner ~= ARGV[2] then return { NOT_OWNER, owner } end
if tonumber(generation or 0) <= tonumber(ARGV[4]) then generation = ARGV[4] end
if not kind or tonumber(held[7] or 0) == 0 then kind = ARGV[3] end

redis.call("HSET", KEYS[1], "owner", ARGV[1], "kind", kind, "generation", generation)
return { OK, generation, type or "", kind, held[5] or "", held[6] or "", held[7] or "0" }
