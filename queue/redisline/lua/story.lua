-- story.lua: what a generation has been like, as scripts answer it; it stands between prelude.lua and those that tell it.
-- Of a queue that is on, the counts of waits stay here: they are many, and half a story.
local function story(q, waits)
  return { text(q.trip), q.trip_of, q.peak, q.at_once, q.longest, waits and q.waits ~= 0 and q.waits or '' }
end
