-- rw_leave: takes a client that does not wait any more out of both registries of a read-write lock. If it was
-- woken, the next one is. If no writer waits any more, readers may enter again.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock; or the readers' phase (rw)
-- KEYS[4] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[5] readers  sorted set: client that waits to read -> arrival
-- KEYS[6] barrier  string: a writer waits, and no further reader enters
-- ARGV[1] client   id of the client
-- ARGV[2] number   of this command; rises with every command of the client
-- ARGV[3] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[4] channel  of the lock
-- ARGV[5] how      to pass the lock on (redisson)
--
-- Replies {1} if others were told; otherwise {0}; {-1} stale.
--
-- Twice: the second run finds nothing. Late: stale once a later command has set the epoch.

local lock, epoch, turn, waiters, readers, barrier = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

local mode = layout(lock)
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return {-1}
end
if ARGV[3] ~= '0' then
  redis.call('SET', epoch, ARGV[2], 'PX', ARGV[3])
end
local wrote = redis.call('ZREM', waiters, ARGV[1])
local read = redis.call('ZREM', readers, ARGV[1])
if mode == 'read' and redis.call('EXISTS', barrier) == 1 and redis.call('ZCARD', waiters) == 0 then
  redis.call('DEL', barrier)
  pass(false, true, turn, waiters, readers, barrier, ARGV[4], ARGV[5])
  return {1}
end
local woken = redis.call('GET', turn)
if mode or woken and woken ~= ARGV[1] and woken ~= '*' and not phase(woken) then
  return {0} -- the holders, or the client that was woken, wake the next one
end
if phase(woken) then
  if come(turn, woken, ARGV[1]) then
    return {0} -- others are still to come
  end
elseif woken then
  redis.call('DEL', turn)
end
-- After the phase of readers, of which this client was the last to come, a writer comes.
pass(true, false, turn, waiters, readers, barrier, ARGV[4], ARGV[5])
return {1}
