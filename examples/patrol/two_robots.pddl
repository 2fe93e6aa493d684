; Two robots that have to act at once: one after the other they would be too late.
(define (problem two-robots)
  (:domain patrol)
  (:objects r1 r2 - robot dock door shelf - waypoint)
  (:init
    (robot_at r1 dock) (free r1) (= (battery r1) 90) (= (speed r1) 1)
    (robot_at r2 door) (free r2) (= (battery r2) 90) (= (speed r2) 2)
    (connected dock door) (connected door shelf)
    (= (distance dock door) 6) (= (distance door shelf) 4))
  (:goal (and (patrolled door) (patrolled shelf)))
  (:constraints (and
    (within 17 (and (patrolled door) (patrolled shelf)))
    (always (>= (battery r1) 70)))))
