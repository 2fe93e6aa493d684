; A patrol as of PlanSys2: moving and inspecting take time, and moving takes charge.
(define (domain patrol)
  (:requirements :strips :typing :durative-actions :numeric-fluents)
  (:types robot waypoint)
  (:predicates
    (robot_at ?r - robot ?wp - waypoint)
    (connected ?a ?b - waypoint)
    (free ?r - robot)
    (dock_at ?wp - waypoint)
    (patrolled ?wp - waypoint))
  (:functions
    (distance ?a ?b - waypoint)  ; [m]
    (speed ?r - robot)           ; [m/s]
    (battery ?r - robot))        ; [%]

  (:durative-action move  ; 2 % a second
    :parameters (?r - robot ?a ?b - waypoint)
    :duration (= ?duration (/ (distance ?a ?b) (speed ?r)))
    :condition (and
      (at start (connected ?a ?b)) (at start (robot_at ?r ?a)) (at start (free ?r))
      (at start (>= (battery ?r) (* 2 (/ (distance ?a ?b) (speed ?r))))))
    :effect (and
      (at start (not (robot_at ?r ?a))) (at start (not (free ?r)))
      (at end (robot_at ?r ?b)) (at end (free ?r))
      (at end (decrease (battery ?r) (* 2 ?duration)))))

  (:durative-action inspect
    :parameters (?r - robot ?wp - waypoint)
    :duration (= ?duration 10)
    :condition (and (over all (robot_at ?r ?wp)) (at start (free ?r)))
    :effect (and (at start (not (free ?r))) (at end (free ?r)) (at end (patrolled ?wp))))

  (:durative-action charge
    :parameters (?r - robot ?wp - waypoint)
    :duration (= ?duration 30)
    :condition (and (over all (robot_at ?r ?wp)) (at start (dock_at ?wp)) (at start (free ?r)))
    :effect (and (at start (not (free ?r))) (at end (free ?r)) (at end (assign (battery ?r) 100)))))
