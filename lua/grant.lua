-- grant: a function, put before the scripts that free a lock. It gives the free lock to a client
-- that was just taken out of the registry of waiters, as its last attempt asked for (acquire):
-- 1. It writes the field of the owner for which the client waits, with a short TTL, the claim.
-- 2. It publishes the attempt's nonce on the client's own channel. Who hears that holds the lock
--    and raises the TTL by a renewal, the claim's, unless it releases before.
-- 3. If nobody hears it, it takes the field back.
--
-- The client counts the claim from before its attempt was sent. The attempt ran before the
-- release, so the client never trusts the lock for longer than the field stands.
--
-- A registration older than its claim is not granted: a pile of stopped clients would cost a
-- claim each. Only where PUBLISH counts all subscribers. Everything is pcall: the lock has been
-- freed, and the release must not fail any more.
--
-- Returns true: granted. Otherwise nothing was changed, and the caller wakes the client as it
-- wakes one of an older version, which registers no nonce.

local function grant(lock, grants, token, client, channel, publish)
  local registered = redis.pcall('HGET', grants, client)
  if type(registered) ~= 'string' then
    return false
  end
  redis.pcall('HDEL', grants, client)
  local nonce, since, claim, fenced, owner = string.match(registered, '^(%S+) (%d+) (%d+) ([01]) (.+)$')
  if not nonce or (fenced == '1' and not token) then
    return false
  end
  local now = redis.pcall('TIME')
  if now.err then
    return false
  end
  local age = now[1] * 1000000 + now[2] - tonumber(since)
  if age < 0 or age >= claim * 1000 then
    return false
  end
  local message = nonce
  if fenced == '1' then
    local raised, issued = pcall(function() return raise(token, tonumber(redis.call('GET', token) or '0')) end)
    if not raised then
      return false
    end
    message = nonce .. ' ' .. string.format('%.0f', issued)
  end
  if type(redis.pcall('HSET', lock, owner, '1')) == 'table' then
    return false
  end
  if redis.pcall('PEXPIRE', lock, claim) == 1 then
    local heard = redis.pcall(publish, channel .. ':' .. client, message)
    if type(heard) == 'number' and heard > 0 then
      return true
    end
  end
  if redis.pcall('HDEL', lock, owner) ~= 1 then
    redis.pcall('DEL', lock) -- a user without a right to HDEL has no lock of ours
  end
  return false
end
