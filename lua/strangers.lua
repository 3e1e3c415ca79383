-- strangers: a function, put before the scripts that let a lock go. It tells how many
-- subscribers of the lock's common channel are not Go clients, that is, how many
-- clients of Redisson wait. Every Go client that listens there listens on
-- `listeners` as well, on which nothing is ever published.

local function strangers(channel, listeners)
  local subscribers = redis.pcall('PUBSUB', 'NUMSUB', channel, listeners)
  return subscribers.err and 0 or subscribers[2] - subscribers[4]
end
