-- write_acquire: takes a free read-write lock for one writer, or says who is in the way and, if asked, puts the
-- client into the registry of writers. A registered writer bars further readers.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock; or the readers' phase (rw)
-- KEYS[4] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[5] readers  sorted set: client that waits to read -> arrival
-- KEYS[6] barrier  string: a writer waits, and no further reader enters
-- KEYS[7] token    string: fencing counter; only when the lock has fencing
-- ARGV[1] owner    hash field of the writer
-- ARGV[2] lease    ms
-- ARGV[3] number   of this command; rises with every command of the client
-- ARGV[4] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[5] client   id of the client
-- ARGV[6] register ms the registry is to live; 0: do not register
-- ARGV[7] since    arrival to register with; 0: now; -1: now, if it is not registered
-- ARGV[8] theirs   1: the last release that the client heard of was Redisson's, so the
--                  lock is not kept for Redisson any more
-- ARGV[9] first    1: readers come first, and the writer sets no barrier
--
-- Replies 1 granted, with fencing {1, token}; {0, ttl, holder, since, rank} busy, as acquire does;
-- {-1} stale.
--
-- Twice: the second run finds the owner's field and grants again, with a higher
-- token. Late: stale, once a later command has set the epoch.

local lock, epoch, turn, waiters, readers, barrier, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local owner, lease, client = ARGV[1], tonumber(ARGV[2]), ARGV[5]

local mode = layout(lock)
local mark, woken = redis.call('GET', epoch), redis.call('GET', turn)
if mark and tonumber(mark) > tonumber(ARGV[3]) then
  return {-1}
end
if ARGV[4] ~= '0' then
  redis.call('SET', epoch, ARGV[3], 'PX', ARGV[4])
end

local held = mode == 'write' and redis.call('HEXISTS', lock, owner) == 1
-- A client that finds the free lock kept for another registers, too: the other may have it and let go of it long
-- before the turn is over, and nobody would be told of that.
local kept = not mode and woken and woken ~= client and not (woken == '*' and ARGV[8] == '1')
if not held and (mode or kept) then
  local ttl, since, rank = redis.call('PTTL', lock), tonumber(ARGV[7]), 0
  if kept then
    ttl = redis.call('PTTL', turn)
  end
  if ARGV[6] ~= '0' then
    since, rank = register(waiters, readers, client, since, ARGV[6])
    if not since then
      return rank
    end
    if (mode == 'read' or kept and phase(woken)) and ARGV[9] ~= '1' then
      redis.call('SET', barrier, client, 'PX', barrier_ms)
    end
  end
  return {0, ttl, mode and others(lock) or woken == '*' and '*' or '', since, rank}
end

-- Redis does not roll a script back: what can fail comes before the HSET.
local issued = 0
if token then
  issued = raise(token, tonumber(redis.call('GET', token) or '0'))
end
local left = mode and redis.call('PTTL', lock) or -2
redis.call('HSET', lock, 'mode', 'write', owner, '1')
if left < lease then
  local expiry = redis.pcall('PEXPIRE', lock, lease)
  if type(expiry) == 'table' then
    if not held and redis.pcall('DEL', lock) ~= 1 then
      redis.call('SET', lock, '', 'PX', 1) -- it would be for ever
    end
    return expiry
  end
end
if woken == client or woken == '*' then
  redis.pcall('DEL', turn)
end
redis.pcall('DEL', barrier) -- the next reader that a writer waits for comes after this hold
if ARGV[7] ~= '0' then
  redis.pcall('ZREM', waiters, client)
  redis.pcall('ZREM', readers, client)
end
return token and {1, issued} or 1
