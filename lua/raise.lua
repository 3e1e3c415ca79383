-- raise: a function, put before the scripts that grant a lock with fencing. It
-- raises the counter and returns the new token. Never below Redis' own clock in
-- microseconds: tokens rise also after the counter was deleted, or came back older
-- from a failover. Stays within 2^53, which a Lua number and a JSON reader can hold.

local function raise(token, last)
  local now = redis.call('TIME')
  local issued = math.max(last + 1, now[1] * 1000000 + now[2])
  redis.call('SET', token, string.format('%.0f', issued))
  return issued
end
