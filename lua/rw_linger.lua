-- rw_linger: takes a read-write lock from an owner and leaves its place to nobody for a while, at the end
-- of which Redis ends that. It tells all waiters to look at the new TTL.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[4] readers  sorted set: client that waits to read -> arrival
-- KEYS[5] marker   string: the owner lives; only of a reader
-- KEYS[6] lives    string: nobody's marker; only of a reader
-- ARGV[1] owner    hash field
-- ARGV[2] nobody   hash field that is no owner's: another one for each hold
-- ARGV[3] while    ms that nobody is to have the place
-- ARGV[4] number   of this command; rises with every command of the client
-- ARGV[5] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[6] markers  what the markers of all readers begin with
-- ARGV[7] channel  of the lock
-- ARGV[8] how      to pass the lock on (redisson)
-- ARGV[9] keep     1: other readers use the owner's field, which stays
--
-- Replies {1} nobody has it; {0} the owner did not hold the lock; {-1} stale.
--
-- Twice: the second run finds nobody's field and changes nothing, the TTL included; with keep it sets the same
-- field again, for the time that is left then. Late: stale once a later command has set the epoch.

local lock, epoch, waiters, readers, marker, lives = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local channel = ARGV[7]

layout(lock)
local held = redis.call('HEXISTS', lock, ARGV[1])
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[4]) then
  return {-1}
end
if ARGV[5] ~= '0' then
  redis.call('SET', epoch, ARGV[4], 'PX', ARGV[5])
end
if held == 0 then
  return {redis.call('HEXISTS', lock, ARGV[2])}
end

local ttl = ARGV[3]
if marker then
  redis.call('SET', lives, '1', 'PX', ttl)
end
redis.call('HSET', lock, ARGV[2], '1')
if ARGV[9] ~= '1' then
  redis.call('HDEL', lock, ARGV[1])
end
if marker then
  if ARGV[9] ~= '1' then
    redis.pcall('DEL', marker)
  end
  ttl = alive(lock, ARGV[6]) -- other readers stay as long as they live
end
if ttl ~= -1 then
  local expiry = redis.pcall('PEXPIRE', lock, ttl)
  if type(expiry) == 'table' then
    redis.call('HDEL', lock, ARGV[2])
    return expiry
  end
end

-- All waiters, and not only the first: when Redis ends the hold, no script wakes the next one.
local _, publish = redisson_waiters(channel, (passing(ARGV[8])))
for _, client in ipairs(redis.call('ZRANGE', waiters, 0, 127)) do
  redis.pcall(publish, channel .. ':' .. client, '0')
end
for _, client in ipairs(redis.call('ZRANGE', readers, 0, 127)) do
  redis.pcall(publish, channel .. ':' .. client, '0')
end
redis.pcall(publish, channel, '0')
return {1}
