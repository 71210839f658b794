package bench

import (
	"reflect"
	"testing"
	"time"
)

func TestTheCurveCountsEachSecond(t *testing.T) {
	t.Parallel()
	let := []time.Time{at(100), at(900), at(1000), at(2500)}
	c := curve(let, at(0), at(3000), []rateSet{{at(0), 2}, {at(2000), 1}})
	if want := [][2]float64{{0, 2}, {2, 1}, {3, 1}}; !reflect.DeepEqual(c.Series[0].Points, want) {
		t.Errorf("rate %v", c.Series[0].Points)
	}
	if want := [][2]float64{{0.5, 2}, {1.5, 1}, {2.5, 1}}; !reflect.DeepEqual(c.Series[1].Points, want) {
		t.Errorf("let in %v", c.Series[1].Points)
	}
}
