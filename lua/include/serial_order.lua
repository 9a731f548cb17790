-- Serials are decimal strings without leading zeros: they compare by length, then lexically, never as numbers.
local function serial_at_most(a, b)
  if #a ~= #b then return #a < #b end
  return a <= b
end
