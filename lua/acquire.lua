-- acquire: takes a free lock for an owner, or says who holds it and, if asked,
-- puts the client into the registry of waiters.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock
-- The rest only if the client registers, was registered, or has more to say than the owner:
-- KEYS[4] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[5] grants   hash: client -> what a release needs to grant it the lock
-- KEYS[6] token    string: fencing counter; only when the lock has fencing
-- ARGV[1] owner    hash field: the client's id, ':', and what the client calls the owner
-- ARGV[2] lease    ms
-- ARGV[3] number   of this command; rises with every command of the client
-- ARGV[4] epoch    ms to remember `number` as the epoch; 0: do not
-- and with KEYS[4]:
-- ARGV[5] client   id of the client
-- ARGV[6] register ms the registry is to live; 0: do not register
-- ARGV[7] since    arrival to register with; 0: now; -1: now, if it is not registered
-- ARGV[8] theirs   1: the last release that the client heard of was Redisson's, so the
--                  lock is not kept for Redisson any more
-- ARGV[9] nonce    of this attempt: by it the client knows that a release has granted it the lock;
--                  '': a release is to wake it
-- ARGV[10] claim   ms that the lock is the owner's when a release has granted it
-- ARGV[i] from 11: owners of the client that do not wait any more, and to whom a release may have
--                  granted the lock: it goes to the owner that asks
--
-- Replies 1 granted, with fencing {1, token}; {0, ttl, holder, since, rank} busy: ttl in ms, -1
-- without one, holder '' while the free lock is kept for a client that was woken and '*'
-- while it is kept for Redisson, rank how many registered clients came before; {-1} stale.
--
-- Twice: the second run finds the owner's field and grants again, with a higher
-- token. Late: stale, once a later command has set the epoch.

local lock, epoch, turn, waiters, grants, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner = ARGV[1]

-- In most runs there is no key at all, and one EXISTS tells that. A key of another type
-- fails here, before anything is written. (MGET takes any type for none.)
local ttl, held, fields, woken, rw = -2, false, nil, nil, false -- -2: no key
local keys = redis.call('EXISTS', lock, epoch, turn)
if keys > 0 then
  ttl = redis.call('PTTL', lock)
  fields = ttl ~= -2 and redis.call('HKEYS', lock) or {} -- one, as a rule
  for _, field in ipairs(fields) do
    held = held or field == owner
    rw = rw or field == 'mode'
  end
end
if keys > 1 or keys == 1 and ttl == -2 then -- one of them is not the lock
  local mark = redis.call('GET', epoch)
  woken = redis.call('GET', turn)
  if mark and tonumber(mark) > tonumber(ARGV[3]) then
    return {-1}
  end
end
if rw then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
if ARGV[4] ~= '0' then
  redis.call('SET', epoch, ARGV[3], 'PX', ARGV[4])
end

-- A release may have granted the lock to an owner of this client that has left since. Nobody else
-- would free that field: the client has one command about the lock on its way at a time.
if not held and ttl ~= -2 and #ARGV > 10 then
  for i = 11, #ARGV do
    redis.call('HDEL', lock, ARGV[i])
  end
  ttl, fields = redis.call('PTTL', lock), redis.call('HKEYS', lock)
end

local client = ARGV[5]
local ours = woken and woken == (client or string.match(owner, '^[^:]*'))
if not held and (woken or ttl ~= -2) then
  local holder = ''
  if ttl ~= -2 then
    holder = fields[1]
    if woken == '*' then
      redis.pcall('DEL', turn) -- it was kept for Redisson, which has got it
    end
  elseif not ours and not (woken == '*' and ARGV[8] == '1') then
    ttl = redis.call('PTTL', turn)
    holder = woken == '*' and '*' or ''
  end
  if ttl ~= -2 then
    local since, rank = tonumber(ARGV[7] or '0'), 0
    if client and ARGV[6] ~= '0' then
      local now = redis.call('TIME')
      now = string.format('%.0f', now[1] * 1000000 + now[2])
      if since <= 0 then
        since = tonumber(now)
      end
      redis.call('ZADD', waiters, 'NX', string.format('%.0f', since), client)
      local lives = redis.pcall('PEXPIRE', waiters, ARGV[6])
      if type(lives) == 'table' then
        -- Nothing of ours is without a TTL, whatever else the user may not do.
        if redis.pcall('ZREM', waiters, client) ~= 1 and redis.pcall('PTTL', waiters) == -1 then
          redis.call('DEL', waiters)
        end
        return lives
      end
      if ARGV[9] ~= '' then
        redis.call('HSET', grants, client, table.concat({ARGV[9], now, ARGV[10], token and 1 or 0, owner}, ' '))
        redis.call('PEXPIRE', grants, ARGV[6])
      else
        redis.call('HDEL', grants, client) -- of an earlier attempt
      end
      since = tonumber(redis.call('ZSCORE', waiters, client)) -- it may have had a place
      rank = redis.call('ZRANK', waiters, client)
    end
    return {0, ttl, holder, since, rank}
  end
end

-- Redis does not roll a script back: what can fail comes before the HSET.
local issued = 0
if token then
  -- Also if the owner's field is there: it may be from a hold that was lost.
  issued = raise(token, tonumber(redis.call('GET', token) or '0'))
end
redis.call('HSET', lock, owner, '1') -- to convert a number takes half a microsecond
local expiry = redis.pcall('PEXPIRE', lock, ARGV[2])
if type(expiry) == 'table' then
  -- A lock without a TTL would be for ever, so it is taken back. A user without the
  -- right to do that can write over it. To check the right to PEXPIRE before the HSET would
  -- cost every grant a command.
  if redis.pcall('HDEL', lock, owner) ~= 1 and not held and redis.pcall('DEL', lock) ~= 1 then
    redis.call('SET', lock, '', 'PX', 1)
  end
  return expiry
end
if ours or woken == '*' then
  redis.pcall('DEL', turn)
end
if client and ARGV[7] ~= '0' then
  redis.pcall('ZREM', waiters, client)
  redis.pcall('HDEL', grants, client)
end
return token and {1, issued} or 1
