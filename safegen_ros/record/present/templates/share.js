for (const film of document.querySelectorAll('.film')) {
  const frames = film.querySelectorAll('.frame');
  const control = film.previousElementSibling;
  if (frames.length < 2 || !control || !control.matches('.scrub')) continue;
  const slider = control.querySelector('input'), told = control.querySelector('output');
  const show = () => {
    frames.forEach((frame, index) => frame.classList.toggle('shown', index == slider.value));
    told.textContent = slider.value + ' of ' + (frames.length - 1);
    slider.setAttribute('aria-valuetext', frames[slider.value].dataset.told);
  };
  slider.max = frames.length - 1;
  slider.addEventListener('input', show);
  control.hidden = false;
  film.classList.add('one');
  show();
}
