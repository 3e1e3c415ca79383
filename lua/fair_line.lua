-- fair_line: puts the waiters of a client into the line of a fair lock, in their order, and keeps the scores right.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] epoch     string: commands of this client numbered below it are stale
-- KEYS[3] queue     list: who waits
-- KEYS[4] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[5] line      hash: what is owed, and who was told (fair)
-- ARGV[1] client    id of the client
-- ARGV[2] number    of this command; rises with every command of the client
-- ARGV[3] epoch     ms to remember `number` as the epoch; 0: do not
-- ARGV[4] wait      ms that each in the line adds to the scores of those behind
-- ARGV[5] refresh   1: also pay what is owed, and give the client's own tickets the scores of newcomers
-- ARGV[i] from 6: '+' and a ticket that is new, or '=' and one that Redis has confirmed: it was dropped if it is not
--                   there, and comes behind the '=' before it, or first
--
-- Replies {1, dropped}, how many were; {-1} stale.
--
-- Twice: finds all where they belong. Late: stale, once a later command has set the epoch; otherwise a ticket
-- whose waiter has left would stay until it is the first.

local lock, epoch, queue, timeouts, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local ttl = redis.call('PTTL', lock)
redis.call('LLEN', queue) -- a key of another type fails before anything is written
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return {-1}
end
if ARGV[3] ~= '0' then
  redis.call('SET', epoch, ARGV[2], 'PX', ARGV[3])
end

local held, wait, behind, dropped = now_ms() + math.max(0, ttl), tonumber(ARGV[4]), '', 0
for i = 6, #ARGV do
  local ticket, old = string.sub(ARGV[i], 2), string.byte(ARGV[i]) == 61 -- '='
  if not placed(queue, timeouts, ticket) then
    if old then
      rejoin(queue, timeouts, ticket, behind, held, wait)
      dropped = dropped + 1
    else
      join(queue, timeouts, ticket, held, wait)
    end
  end
  if old then
    behind = ticket
  end
end

if ARGV[5] == '1' then
  local owed = tonumber(redis.call('HGET', line, 'owed') or '0')
  local before = held
  -- The first thousand: to be dropped one has to be the first, and each place is worth a wait.
  for _, element in ipairs(redis.call('LRANGE', queue, 0, 999)) do
    local score, due = score_of(timeouts, element), before + wait
    local right = due
    if not is_ticket(element) or client_of(element) ~= ARGV[1] then
      right = math.max(score - owed * wait, math.min(score, due)) -- some may have joined since, and owe less
    end
    if right ~= score then
      redis.call('ZADD', timeouts, whole(right), element)
    end
    before = math.max(before, right)
  end
  redis.call('HDEL', line, 'owed')
end
return {1, dropped}
