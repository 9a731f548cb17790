-- Where a cursor is to begin: earliest, latest, or an offset; one below the log start means the log start.  state is a
-- partition's topic id, start and next offset.  Nothing for an offset beyond the end.
local function start_offset(where, state)
  if where == "earliest" then return state[2] end
  if where == "latest" then return state[3] end
  if tonumber(where) > tonumber(state[3]) then return nil end
  if tonumber(where) < tonumber(state[2]) then return state[2] end
  return where
end
