-- fair_linger: takes a fair lock from its owner and leaves it to nobody for a while, at the end of which Redis
-- frees it. It tells those who wait to look at the new TTL.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] queue    list: who waits
-- ARGV[1] owner    hash field
-- ARGV[2] nobody   hash field that is no owner's: another one for each hold
-- ARGV[3] while    ms that nobody is to have the lock
-- ARGV[4] number   of this command; rises with every command of the client
-- ARGV[5] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[6] channel  of the lock
-- ARGV[7] how      to publish (redisson)
--
-- Replies {1} nobody has it; {0} the owner did not hold the lock; {-1} stale.
--
-- Twice: the second run finds nobody's field and changes nothing, the TTL included. Late:
-- stale once a later command has set the epoch.

local lock, epoch, queue = KEYS[1], KEYS[2], KEYS[3]
local channel = ARGV[6]

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

redis.call('HSET', lock, ARGV[2], '1')
local expiry = redis.pcall('PEXPIRE', lock, ARGV[3])
if type(expiry) == 'table' then
  redis.call('HDEL', lock, ARGV[2])
  return expiry
end
redis.call('HDEL', lock, ARGV[1])

-- Each client once: its first waiter looks. Each thread of Redisson looks for itself.
local publish = sender(channel, ARGV[7])
local waiting, told = redis.pcall('LRANGE', queue, 0, 127), {}
for _, element in ipairs(waiting.err and {} or waiting) do
  local to = is_ticket(element) and client_of(element) or element
  if not told[to] then
    told[to] = true
    redis.pcall(publish, channel .. ':' .. to, '0')
  end
end
return {1}
