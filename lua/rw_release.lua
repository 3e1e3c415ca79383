-- rw_release: ends a hold on a read-write lock, whatever the hold count, and passes the lock on when nobody
-- holds it any more. Reads inside a write hold go on after it, and other readers may enter then.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock; or the readers' phase (rw)
-- KEYS[4] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[5] readers  sorted set: client that waits to read -> arrival
-- KEYS[6] barrier  string: a writer waits, and no further reader enters
-- KEYS[7] marker   string: the reader lives; only of a reader
-- ARGV[1] owner    hash field
-- ARGV[2] number   of this command; rises with every command of the client
-- ARGV[3] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[4] markers  what the markers of all readers begin with
-- ARGV[5] channel  of the lock
-- ARGV[6] how      to pass the lock on (redisson)
--
-- Replies 1 released, 0 the owner did not hold it, {1, 1} or {0, 1} the same and the epoch
-- could not be set; -1 stale.
--
-- Twice: the second run finds no field and changes nothing. Late: stale once a
-- later command has set the epoch. Needs no memory, so it works when Redis is full.

local lock, epoch, turn, waiters, readers, barrier, marker = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]

local mode = layout(lock)
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return -1
end
local forgotten = false
if ARGV[3] ~= '0' then
  -- pcall: a full Redis refuses SET, and must not refuse the release.
  forgotten = redis.pcall('SET', epoch, ARGV[2], 'PX', ARGV[3]).err
end
if redis.call('HDEL', lock, ARGV[1]) == 0 then
  return forgotten and {0, 1} or 0
end
local freed = forgotten and {1, 1} or 1
if marker then
  redis.pcall('DEL', marker)
end
if mode == 'write' and marker then
  return freed -- the owner's write hold goes on
end

left(lock, mode, turn, waiters, readers, barrier, ARGV[4], ARGV[5], ARGV[6])
return freed
