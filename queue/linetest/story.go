package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

var story = []test{
	{"the story of a queue says what tripped it, how long its line was and how long people waited", wholeStory},
	{"a reset closes the books of the generation that it ends, and the next story begins anew", resetStory},
	{"a draw tells no waits: a lot says nothing of the arrival", drawnStory},
}

func wholeStory(s *stand) {
	trip := queue.Trip{Measure: 512.5, Trigger: 500}
	s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "trigger_requests", Trip: trip})
	s.clock.Add(time.Second)
	for i := 1; i <= 10; i++ { // one second's worth goes in at once
		if a := s.join(visitor(i))[0]; a.Outcome != queue.Inside {
			s.Fatalf("visitor %d: %+v", i, a)
		}
	}
	s.fill(11, 30)
	if got := s.look().Story; got.Trip != trip || got.PeakWaiting != 30 || got.AtOnce != 10 || got.LongestMS != 0 || got.Waits != nil {
		s.Errorf("while it is on: %+v", got)
	}
	s.run(8*time.Second, 250*time.Millisecond) // 10 a second: all 30 are in after 3 s
	ended := s.switchTo(queue.Deactivate).Ended
	if ended == nil || ended.Counts.Admitted != 40 || ended.Story.Trip != trip || ended.Story.PeakWaiting != 30 || ended.Story.AtOnce != 10 {
		s.Fatalf("ended %+v", ended)
	}
	if l := ended.Story.LongestMS; l < 2500 || l > 4000 {
		s.Errorf("longest wait %d ms", l)
	}
	if median, ok := ended.Story.MedianMS(); !ok || median < 500 || median > 1500 { // of 40, of whom 10 waited 0 s and 30 up to 3 s
		s.Errorf("median wait %d ms %v", median, ok)
	}
	look := s.look()
	a, _ := look.Story.MedianMS()
	if b, _ := ended.Story.MedianMS(); look.Header.On() || a != b || look.Story.LongestMS != ended.Story.LongestMS {
		s.Errorf("looked at afterwards %+v, told %+v", look.Story, ended.Story)
	}
}

func resetStory(s *stand) {
	s.switchTo(queue.Activate)
	s.clock.Add(time.Second)
	s.join(visitors(1, 25)...)
	ended := s.switchTo(queue.Reset).Ended
	if ended == nil || ended.Counts.Left != 15 || ended.Counts.Revoked != 10 || !ended.Counts.Balanced() || ended.Story.PeakWaiting != 15 {
		s.Fatalf("ended %+v", ended)
	}
	if got := s.look().Story; got.PeakWaiting != 0 || got.AtOnce != 0 {
		s.Errorf("the next one begins with %+v", got)
	}
	if again := s.switchTo(queue.Pause).Ended; again != nil {
		s.Errorf("a pause ended %+v", again)
	}
}

func drawnStory(s *stand) {
	s.set(func(l *queue.Limits) { l.Random = true })
	s.order(queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, By: "sale", OpensMS: s.nowMS() + 1000})
	var asks []queue.Ask
	for i, v := range visitors(1, 5) {
		asks = append(asks, queue.Ask{Visitor: v, Create: true, Lot: int64(5 - i)})
	}
	s.asks(asks...)
	s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: "sale"})
	s.run(2*time.Second, 250*time.Millisecond)
	ended := s.switchTo(queue.Deactivate).Ended
	if ended.Counts.Admitted != 5 || ended.Story.LongestMS != 0 || ended.Story.PeakWaiting != 5 {
		s.Errorf("ended %+v", ended)
	}
	if _, known := ended.Story.MedianMS(); known {
		s.Error("a median of waits that nobody knows")
	}
}
