-- raise: a function, put before the scripts that grant a lock with fencing. It
-- raises the counter and returns the new token. Never below Redis' own clock in
-- microseconds: tokens rise also after the counter was deleted, or came back older
-- from a failover. Refuses beyond 2^53, where a Lua number would no longer rise.

local function raise(token, last)
  local now = redis.call('TIME')
  local issued = math.max(last + 1, now[1] * 1000000 + now[2])
  if issued > 9007199254740992 then
    error('fencing counter is used up: ' .. token)
  end
  redis.call('SET', token, string.format('%.0f', issued))
  return issued
end
