#version 300 es
precision highp float;

in vec2 sigmas;
flat in vec4 colour;
out vec4 premultiplied;

void main() {
  float alpha = min(0.999, colour.a * exp(-0.5 * dot(sigmas, sigmas)));
  if (alpha < 1.0 / 255.0) discard;
  premultiplied = vec4(colour.rgb * alpha, alpha);
}
