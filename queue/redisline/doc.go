// Package redisline is the line of one item in Redis (7.0 and up, standalone, Sentinel or Cluster): the production
// store. Every operation is one script, so that what must not be parted happens at once; all keys of an item carry its
// hash tag, so that each script works on one slot. docs/line.md has the rules, docs/redis.md the keys.
package redisline
