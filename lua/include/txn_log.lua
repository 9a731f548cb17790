-- Encodes records of the transaction log as protobuf (proto/redis_ledger/v1/txn_log.proto): field numbers are the contract.
-- The one-byte heads are tag * 8 + wire type; this runs for every operation of a coordinator, so it is spelled out.
local char = string.char
local LOG_STATUS = { O = "\1", C = "\2", D = "\3", A = "\4", T = "\4", B = "\5" }
local NEW, ADD_PARTITION, ADD_SUBSCRIPTION, UPDATE = "\8\1\18", "\8\2\18", "\8\3\18", "\8\4\18" -- op, head of the serial

local function varint(n)
  if n < 128 then return char(n) end
  if n < 16384 then return char(n % 128 + 128, math.floor(n / 128)) end
  local low = n % 128
  return char(low + 128) .. varint((n - low) / 128)
end

-- op and serial; what follows are optional fields, then the suffix all records of a call share.
local function log_head(op, serial) return op .. char(#serial) .. serial end
local function log_states(from, to) return "\24" .. LOG_STATUS[from] .. "\32" .. LOG_STATUS[to] end
local function log_participant(text) return "\42" .. varint(#text) .. text end
local function log_begin(timeout, started, owner)
  local head = "\32\1\48" .. varint(timeout) .. "\56" .. varint(started)
  if owner == "-" then return head end
  return head .. "\82" .. varint(#owner) .. owner
end
local function log_suffix(modified, max_serial) return "\64" .. varint(modified) .. "\74" .. char(#max_serial) .. max_serial end
