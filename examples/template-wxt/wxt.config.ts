import { defineConfig } from 'wxt'

export default defineConfig({
  manifest: {
    name: 'My extension',
    permissions: ['storage'],
    action: { default_title: 'Notes' },
    browser_specific_settings: { gecko: { id: 'my-extension@example.com' } },
  },
})
