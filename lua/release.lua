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
-- ARGV[5] how      to pass the lock on (redisson)
--
-- Replies 1 freed, 0 the owner did not hold it, {1, 1} or {0, 1} the same and the epoch
-- could not be set; -1 stale.
--
-- Twice: the second run finds no field and changes nothing. Late: stale once a
-- later command has set the epoch. Needs no memory, so it works when Redis is full.
--
-- It is in two files: most runs end in this one, and need none of the functions that stand between
-- this file and released.

local lock, forgotten = KEYS[1], false

-- In most runs there is neither, and one EXISTS tells that.
local marked = redis.call('EXISTS', KEYS[2], KEYS[4]) > 0
local mark = marked and redis.call('GET', KEYS[2])
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return -1
end
if ARGV[3] ~= '0' then
  redis.call('HEXISTS', lock, ARGV[1]) -- a key of another type fails before the SET
  -- pcall: a full Redis refuses SET, and must not refuse the release.
  forgotten = redis.pcall('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]).err
end
-- HDEL and not DEL: a field of another owner, should there be one, stays.
if redis.call('HDEL', lock, ARGV[1]) == 0 then
  return forgotten and {0, 1} or 0
end
local freed = forgotten and {1, 1} or 1
if redis.call('EXISTS', lock) == 1 then
  return freed
end

-- If no client is registered and the message has no receiver either, nobody waits. Messages are delivered
-- after the script, so released keeps the turn in time. With SPUBLISH the node has to be asked first
-- whether it has that.
local channel, how, told = ARGV[4], ARGV[5], false
if not marked and string.byte(how) == 80 then -- 'P'
  told = true
  if redis.pcall('PUBLISH', channel, '-0') == 0 then
    return freed
  end
end
local turn, waiters, grants, token = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
