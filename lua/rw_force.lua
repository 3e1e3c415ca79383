-- rw_force: ends all reads, or the write hold, of a read-write lock, whoever has them, or one holder's only, and passes
-- the lock on.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] turn     string: the client that was woken and may take the free lock; or the readers' phase (rw)
-- KEYS[3] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[4] readers  sorted set: client that waits to read -> arrival
-- KEYS[5] barrier  string: a writer waits, and no further reader enters
-- ARGV[1] mode     read or write: which of them
-- ARGV[2] markers  what the markers of all readers begin with
-- ARGV[3] channel  of the lock
-- ARGV[4] how      to pass the lock on (redisson)
-- ARGV[5] holder   the only field to end, a reader's or the writer's, and then the mode does not matter; absent: any
--
-- Replies {1} ended, {0} there was none. Reads inside a write hold stay, as with Redisson.
--
-- Twice or late: ends what is there by then, as the name says. With a holder as force.

local lock, turn, waiters, readers, barrier = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local mode = layout(lock)
local holder = ARGV[5]
if holder and holder ~= 'mode' then
  local holds = math.min(tonumber(redis.call('HGET', lock, holder)) or 1, 1000)
  if redis.call('HDEL', lock, holder) == 0 then
    return {0}
  end
  if is_reader(holder) then
    for i = 1, holds do -- Redisson has a marker for each hold
      redis.pcall('DEL', ARGV[2] .. holder .. ':rwlock_timeout:' .. i)
    end
    if mode == 'write' then
      return {1} -- the owner's write hold goes on
    end
  end
  left(lock, mode, turn, waiters, readers, barrier, ARGV[2], ARGV[3], ARGV[4])
  return {1}
end

if mode ~= ARGV[1] then
  return {0}
end
if ARGV[1] == 'write' then
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and not is_reader(field) then
      redis.call('HDEL', lock, field)
    end
  end
  if alive(lock, ARGV[2]) then
    redis.call('HSET', lock, 'mode', 'read')
    pass(false, true, turn, waiters, readers, barrier, ARGV[3], ARGV[4])
    return {1}
  end
end
redis.call('DEL', lock)
pass(true, ARGV[1] == 'write', turn, waiters, readers, barrier, ARGV[3], ARGV[4])
return {1}
