// viser ties no label to a text field, names no icon button, and opens a folder with the mouse only.
const icons = { 'list-search': 'Commands', adjustments: 'Configuration and diagnostics', 'arrow-back': 'Back' };
let due = 0;  // the request for the next frame, if there is one
const name = () => {
  due = 0;
  document.getElementById('root')?.setAttribute('role', 'main');
  for (const label of document.querySelectorAll('label[for]')) {
    const row = label.closest('.mantine-Flex-root');
    for (const field of row ? row.querySelectorAll('input, textarea, [role=slider]') : [])
      if (field.id !== label.htmlFor && !field.ariaLabel) field.ariaLabel = label.textContent;
  }
  for (const [icon, told] of Object.entries(icons))
    for (const drawn of document.querySelectorAll('button .tabler-icon-' + icon))
      drawn.closest('button').ariaLabel ??= told;
  for (const button of document.querySelectorAll('.mantine-Notification-closeButton'))
    button.ariaLabel ??= 'Close the message';
  for (const head of document.querySelectorAll('.mantine-Paper-root > .mantine-Paper-root[style*=pointer]')) {
    Object.assign(head, { role: 'button', tabIndex: 0, ariaExpanded: String(!head.nextElementSibling?.inert) });
    head.onkeydown = (key) => { if (key.key === 'Enter') head.click(); };
  }
};
new MutationObserver(() => { due ||= requestAnimationFrame(name); }).observe(document, { childList: true, subtree: true });
