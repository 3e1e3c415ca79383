-- inspect: reads a lock. A script and not plain commands, so that a cluster
-- client that sends reads to replicas still asks the master.
--
-- KEYS[1] lock   hash: owner -> hold count
-- ARGV[1] owner  whose hold count is wanted
--
-- Replies {ttl, count, holder}: ttl in ms, -1 without one, -2 when the lock is
-- free; count of the owner, 0 if it holds nothing; holder '' when free.

local count = redis.call('HGET', KEYS[1], ARGV[1])
local ttl = redis.call('PTTL', KEYS[1])
local holder = redis.call('HKEYS', KEYS[1])[1]
if redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
return {ttl, tonumber(count or '0'), holder or ''}
