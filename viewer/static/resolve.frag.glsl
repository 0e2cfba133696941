#version 300 es
// The blended picture over the background, or its depth in colours.
precision highp float;

uniform sampler2D picture;
uniform vec2 size;       // of the canvas
uniform vec3 background;
uniform int mode;
uniform vec2 range;      // nearest and farthest depth to tell apart
out vec4 colour;

vec3 ramp(float t) {     // dark violet, teal, pale yellow: lightness falls with distance
  vec3 far = vec3(0.16, 0.07, 0.28), middle = vec3(0.10, 0.53, 0.55), close = vec3(0.99, 0.95, 0.70);
  return t < 0.5 ? mix(close, middle, 2.0 * t) : mix(middle, far, 2.0 * t - 1.0);
}

void main() {
  vec4 sum = texture(picture, gl_FragCoord.xy / size);
  vec3 rgb = sum.rgb;
  if (mode == 1 && sum.a > 0.0) {
    float t = log(sum.r / sum.g / range.x) / log(range.y / range.x);
    rgb = ramp(clamp(t, 0.0, 1.0)) * sum.a;
  }
  colour = vec4(rgb + (1.0 - sum.a) * background, 1.0);
}
