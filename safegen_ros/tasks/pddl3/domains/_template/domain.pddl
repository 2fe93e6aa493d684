; _template: a robot with one hand carries things between places.
(define (domain _template)
  (:requirements :strips :typing)
  (:types place thing - object)
  (:predicates
    (robot-at ?p - place)
    (thing-at ?t - thing ?p - place)
    (hand-empty)
    (holding ?t - thing))

  (:action go
    :parameters (?from ?to - place)
    :precondition (robot-at ?from)
    :effect (and (robot-at ?to)
                 (not (robot-at ?from))))

  (:action take
    :parameters (?t - thing ?p - place)
    :precondition (and (robot-at ?p) (thing-at ?t ?p) (hand-empty))
    :effect (and (holding ?t)
                 (not (thing-at ?t ?p)) (not (hand-empty))))

  (:action put
    :parameters (?t - thing ?p - place)
    :precondition (and (robot-at ?p) (holding ?t))
    :effect (and (thing-at ?t ?p) (hand-empty)
                 (not (holding ?t)))))
