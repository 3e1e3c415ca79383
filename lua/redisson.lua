-- redisson: a function, redisson_waiters, put before the scripts that let a lock go. It
-- returns how many clients of Redisson wait, or -1 if that cannot be told, and the command
-- to publish with. Redisson's waiters are the subscribers of the lock's common channel that
-- are not Go clients. Every Go client that listens there also listens on `listeners`, on
-- which nothing is ever published.
--
-- In a cluster the command is SPUBLISH, whose receivers are all at this node, or else
-- PUBLISH, whose receivers are anywhere. Clients that publish and clients that listen must
-- decide alike. So all of them ask the node of the lock the question that Redisson asks,
-- PUBSUB SHARDNUMSUB. If the node refuses it, since it is old or the user may not ask, the
-- command is PUBLISH.

local function redisson_waiters(channel, listeners, publish)
  local sharded = publish == 'SPUBLISH'
  local subscribers = redis.pcall('PUBSUB', sharded and 'SHARDNUMSUB' or 'NUMSUB', channel, listeners)
  if subscribers.err then
    return sharded and -1 or 0, 'PUBLISH'
  end
  return math.max(0, subscribers[2] - subscribers[4]), publish
end
