-- A call that was given up by its broker is not executed: the broker's client may have sent the request elsewhere and gone
-- on.  Its last argument is the time, by the clock of this server in ms, until which the broker waits; "" for no limit.
do
  local deadline = table.remove(ARGV)
  if deadline ~= "" then
    local time = redis.call("TIME")
    if time[1] * 1000 + time[2] / 1000 > tonumber(deadline) then return redis.error_reply("LATE the broker has given this call up") end
  end
end
