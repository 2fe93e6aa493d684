(define (problem patrol-1)
  (:domain patrol)
  (:objects r2d2 - robot dock door shelf - waypoint)
  (:init
    (robot_at r2d2 dock) (free r2d2) (dock_at dock) (= (battery r2d2) 35) (= (speed r2d2) 0.5)
    (connected dock door) (connected door dock) (connected door shelf) (connected shelf door)
    (= (distance dock door) 6) (= (distance door dock) 6)
    (= (distance door shelf) 4) (= (distance shelf door) 4))
  (:goal (and (patrolled door) (patrolled shelf)))
  (:constraints (and
    (sometime-before (patrolled shelf) (patrolled door))
    (always (>= (battery r2d2) 20))
    (within 90 (patrolled shelf)))))
