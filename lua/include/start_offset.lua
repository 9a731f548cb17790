-- Returns the offset for earliest, latest or a given offset; one below the log start means the log start.  state: topic id,
-- start and next offset of a partition.  Returns nil for an offset beyond the end.
local function start_offset(where, state)
  if where == "earliest" then return state[2] end
  if where == "latest" then return state[3] end
  if tonumber(where) > tonumber(state[3]) then return nil end
  if tonumber(where) < tonumber(state[2]) then return state[2] end
  return where
end
