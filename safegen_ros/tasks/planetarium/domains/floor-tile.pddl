; Floor Tile, simplified as in Planetarium (section 4.2): robots paint tiles beside the one that they
; stand on. (up ?a ?b): ?a lies above ?b; (right ?a ?b): ?a lies right of ?b.
; Nothing blocks a robot, and paint stays.
(define (domain floor-tile)
  (:requirements :typing)
  (:types robot tile color - object)
  (:predicates
    (robot-at ?r - robot ?t - tile)
    (up ?upper ?lower - tile)
    (right ?right ?left - tile)
    (painted ?t - tile ?c - color)
    (robot-has ?r - robot ?c - color)
    (available-color ?c - color))

  (:action change-color
    :parameters (?r - robot ?old ?new - color)
    :precondition (and (robot-has ?r ?old) (available-color ?new))
    :effect (and (robot-has ?r ?new)
                 (not (robot-has ?r ?old))))

  (:action paint-up
    :parameters (?r - robot ?t ?from - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?from) (up ?t ?from))
    :effect (painted ?t ?c))

  (:action paint-down
    :parameters (?r - robot ?t ?from - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?from) (up ?from ?t))
    :effect (painted ?t ?c))

  (:action paint-right
    :parameters (?r - robot ?t ?from - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?from) (right ?t ?from))
    :effect (painted ?t ?c))

  (:action paint-left
    :parameters (?r - robot ?t ?from - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?from) (right ?from ?t))
    :effect (painted ?t ?c))

  (:action up
    :parameters (?r - robot ?from ?to - tile)
    :precondition (and (robot-at ?r ?from) (up ?to ?from))
    :effect (and (robot-at ?r ?to)
                 (not (robot-at ?r ?from))))

  (:action down
    :parameters (?r - robot ?from ?to - tile)
    :precondition (and (robot-at ?r ?from) (up ?from ?to))
    :effect (and (robot-at ?r ?to)
                 (not (robot-at ?r ?from))))

  (:action right
    :parameters (?r - robot ?from ?to - tile)
    :precondition (and (robot-at ?r ?from) (right ?to ?from))
    :effect (and (robot-at ?r ?to)
                 (not (robot-at ?r ?from))))

  (:action left
    :parameters (?r - robot ?from ?to - tile)
    :precondition (and (robot-at ?r ?from) (right ?from ?to))
    :effect (and (robot-at ?r ?to)
                 (not (robot-at ?r ?from)))))
