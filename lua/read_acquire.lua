-- read_acquire: lets an owner read beside other readers, or inside its own write hold, or says who is in the
-- way and, if asked, puts the client into the registry of readers. If the client has the field for other readers of
-- its own already (joins), the script says whether one more may join them.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock; or the readers' phase (rw)
-- KEYS[4] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[5] readers  sorted set: client that waits to read -> arrival
-- KEYS[6] barrier  string: a writer waits, and no further reader enters
-- KEYS[7] marker   string: the owner lives; its TTL is the lease
-- ARGV[1] owner    hash field of the reader
-- ARGV[2] lease    ms
-- ARGV[3] number   of this command; rises with every command of the client
-- ARGV[4] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[5] client   id of the client
-- ARGV[6] register ms the registry is to live; 0: do not register
-- ARGV[7] since    arrival to register with; 0: now; -1: now, if it is not registered
-- ARGV[8] theirs   1: the last release that the client heard of was Redisson's, so the
--                  lock is not kept for Redisson any more
-- ARGV[9] writer   hash field of the same owner as a writer: inside its write hold it may read
-- ARGV[10] first   1: readers come first, and the barrier does not count
-- ARGV[11] channel of the lock; only if the client joins
-- ARGV[12] how     to pass the lock on (redisson), which says how Redisson's waiters are counted; only if the client joins
--
-- Replies 1 granted, {1, 0, theirs} if the client joins: how many clients of Redisson wait, -1 if that cannot be told;
-- {0, ttl, holder, since, rank} busy, as acquire does; {-1} stale; {-2} the client joins, and the field is gone.
--
-- Twice: the second run finds the owner's field and grants again. A client that joins may find the barrier then,
-- and has its field all the same. Late: stale, once a later command has set the epoch.

local lock, epoch, turn, waiters, readers, barrier, marker = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local owner, lease, client = ARGV[1], tonumber(ARGV[2]), ARGV[5]

local mode = layout(lock)
local mark, woken = redis.call('GET', epoch), redis.call('GET', turn)
if mark and tonumber(mark) > tonumber(ARGV[3]) then
  return {-1}
end
if ARGV[4] ~= '0' then
  redis.call('SET', epoch, ARGV[3], 'PX', ARGV[4])
end

local held = mode and redis.call('HEXISTS', lock, owner) == 1
local joins, barred = ARGV[11] ~= nil, false
local granted = held
if joins then
  if not held then
    return {-2}
  end
  barred = not phase(woken) and ARGV[10] ~= '1' and redis.call('EXISTS', barrier) == 1
  granted = not barred
elseif held then
elseif not mode then
  granted = not woken or phase(woken) or woken == client or woken == '*' and ARGV[8] == '1'
elseif mode == 'read' then
  barred = not phase(woken) and ARGV[10] ~= '1' and redis.call('EXISTS', barrier) == 1
  granted = not barred
else
  granted = redis.call('HEXISTS', lock, ARGV[9]) == 1
end

if not granted then
  -- A client that finds the free lock kept for a writer registers, too: after that write it is told.
  local ttl, since, rank = redis.call('PTTL', lock), tonumber(ARGV[7]), 0
  if not mode then
    ttl = redis.call('PTTL', turn)
  end
  if barred then
    ttl = math.max(0, math.min(ttl, redis.call('PTTL', barrier))) -- a writer that waits sets it again
  end
  if ARGV[6] ~= '0' then
    since, rank = register(readers, waiters, client, since, ARGV[6])
    if not since then
      return rank
    end
  end
  return {0, ttl, mode and others(lock) or woken == '*' and '*' or '', since, rank}
end

-- Redis does not roll a script back: what can fail comes before the first write. The marker comes first: without the field it
-- means nothing.
local left = mode and redis.call('PTTL', lock) or -2
redis.call('SET', marker, '1', 'PX', lease)
if not mode then
  redis.call('HSET', lock, 'mode', 'read', owner, '1')
else
  redis.call('HSET', lock, owner, '1')
end
if left < lease then
  local expiry = redis.pcall('PEXPIRE', lock, lease)
  if type(expiry) == 'table' then
    redis.pcall('DEL', marker)
    if mode then
      redis.pcall('HDEL', lock, owner)
    elseif redis.pcall('DEL', lock) ~= 1 then
      redis.call('SET', lock, '', 'PX', 1) -- it would be for ever
    end
    return expiry
  end
end
if woken == client or woken == '*' then
  redis.pcall('DEL', turn)
elseif phase(woken) then
  come(turn, woken, client)
end
if ARGV[7] ~= '0' then
  redis.pcall('ZREM', readers, client)
  redis.pcall('ZREM', waiters, client)
end
if joins then
  local publish, _, _, counted = passing(ARGV[12])
  return {1, 0, counted and redisson_waiters(ARGV[11], publish) or -1}
end
return 1
