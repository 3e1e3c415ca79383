-- release: frees the lock if the owner holds it, whatever the hold count, and
-- grants it to the first registered waiter, or wakes that one.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock
-- KEYS[4] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[5] grants   hash: client -> what a release needs to grant it the lock
-- KEYS[6] token    string: fencing counter; only when the owner has a token
-- ARGV[1] owner    hash field
-- ARGV[2] number   of this command; rises with every command of the client
-- ARGV[3] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[4] channel  of the lock
-- ARGV[5] listeners  channel of the Go clients that wait
-- ARGV[6] publish  PUBLISH; or SPUBLISH, if the node has it
-- ARGV[7] pause    ms that the free lock is kept for the woken client
-- ARGV[8] yield    ms that it is kept for waiters of Redisson instead
-- ARGV[9] counted  1: PUBLISH and PUBSUB count all subscribers
--
-- Replies 1 freed, 0 the owner did not hold it, {1, 1} or {0, 1} the same and the epoch
-- could not be set; -1 stale.
--
-- Twice: the second run finds no field and changes nothing. Late: stale once a
-- later command has set the epoch. Needs no memory, so it works when Redis is full.

local lock, epoch = KEYS[1], KEYS[2]

-- In most runs there is neither, and one EXISTS tells that.
local marked = redis.call('EXISTS', epoch, KEYS[4]) > 0
local mark = marked and redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return -1
end
local forgotten = false
if ARGV[3] ~= '0' then
  redis.call('HEXISTS', lock, ARGV[1]) -- a key of another type fails before the SET
  -- pcall: a full Redis refuses SET, and must not refuse the release.
  local set = redis.pcall('SET', epoch, ARGV[2], 'PX', ARGV[3])
  forgotten = set.err
end
-- HDEL and not DEL: a field of another owner, should there be one, stays.
if redis.call('HDEL', lock, ARGV[1]) == 0 then
  return forgotten and {0, 1} or 0
end
if redis.call('EXISTS', lock) == 0 then
  if marked or ARGV[6] ~= 'PUBLISH' then
    wake(lock, KEYS[3], KEYS[4], KEYS[5], KEYS[6], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9] == '1')
  else
    wake_redisson(KEYS[3], ARGV[4], ARGV[5], ARGV[6], ARGV[8], ARGV[9] == '1')
  end
end
return forgotten and {1, 1} or 1
